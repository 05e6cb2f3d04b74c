// The data of the page, and what of it is shown.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const strings = data.strings;
const spans = typed(data.spans, ["begin", "end"]);
const arrows = typed(data.arrows, ["recorded", "begin", "end"]);
const spanCount = spans.stream.length;
const arrowCount = arrows.to.length;

function typed(columns, times) {
  const result = {};
  for (const [key, list] of Object.entries(columns)) {
    result[key] = times.includes(key) ? Float64Array.from(list) : Int32Array.from(list);
  }
  return result;
}

// White text has a contrast of at least 4.5 on each of these.
const PALETTE = ["#3d63d6", "#0b7d6e", "#b5540a", "#b32f6c", "#7a4cd6",
                 "#0a70a4", "#54780f", "#a33b30", "#5b6472", "#8a5a00"];
const color = (stream) =>
  PALETTE[stream] || `hsl(${Math.round((stream * 137.5) % 360)} 48% 38%)`;

function duration(ns) {
  const units = ["ns", "µs", "ms", "s"];
  let unit = 0;
  while (unit < 3 && Math.abs(ns) >= 999.5) {
    ns /= 1000;
    unit++;
  }
  const size = Math.abs(ns);
  return ns.toFixed(unit === 0 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2) + " " + units[unit];
}

const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
const percent = (share) => (100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0) + " %";

const GUTTER = 172;  // width of the stream names
const AXIS = 28;     // height of the time axis
const stage = document.getElementById("stage");
const canvas = document.getElementById("canvas");
const ink = canvas.getContext("2d");
const tip = document.getElementById("tip");

let measures = data.all;   // of the selected call, or of everything
let selectedCall = null;   // an entry of data.calls
let lanes = [];            // what each stream shows, see select()
let shownArrows = [];
let view = {begin: 0, end: 1};  // ns
let scroll = 0;                 // px, when the lanes are higher than the stage
let width = 0, height = 0;
let theme = {};
let pointer = null;      // {x, y} over the stage
let picked = null;       // {kind: "span" | "wait", index}, clicked
let matches = null;      // Uint8Array by span, or null without a search
let matchList = [], matchAt = -1;

const scale = () => (width - GUTTER) / (view.end - view.begin);
const toX = (time) => GUTTER + (time - view.begin) * scale();
const toTime = (x) => view.begin + (x - GUTTER) / scale();

/** Shows one call, or all of them: fills the lanes with what belongs to it, sorted by time. */
function select(call) {
  selectedCall = call;
  measures = call || data.all;
  const mine = (columns, i) =>
    !call || (columns.call[i] === call.call && columns.program[i] === call.program);
  lanes = data.streams.map((stream) => ({
    rows: Array.from({length: stream.rows}, () => ({spans: [], waits: []})),
  }));
  for (let i = 0; i < spanCount; i++) {
    if (mine(spans, i)) lanes[spans.stream[i]].rows[spans.row[i]].spans.push(i);
  }
  shownArrows = [];
  for (let i = 0; i < arrowCount; i++) {
    if (!mine(arrows, i)) continue;
    shownArrows.push(i);
    lanes[arrows.to[i]].rows[arrows.row[i]].waits.push(i);
  }
  for (const lane of lanes) {
    // One call alone needs no second row.
    const used = lane.rows.filter((row) => row.spans.length || row.waits.length);
    lane.rows = used.length ? used : lane.rows.slice(0, 1);
    for (const row of lane.rows) {
      row.spans.sort((a, b) => spans.begin[a] - spans.begin[b] || spans.end[a] - spans.end[b]);
      row.waits.sort((a, b) => arrows.begin[a] - arrows.begin[b]);
    }
  }
  picked = null;
  showNumbers();
  resize();
  fit();
}

function fit() {
  const length = Math.max(1, measures.end - measures.begin);
  // Room on the right for the name of a short last operator.
  view = {begin: measures.begin - length * 0.006, end: measures.end + length * 0.05};
  redraw();
}

function zoom(factor, x = GUTTER + (width - GUTTER) / 2) {
  const whole = Math.max(1, measures.end - measures.begin);
  const length = Math.min(Math.max((view.end - view.begin) * factor, 20), whole * 1.5);
  const share = (x - GUTTER) / (width - GUTTER);
  const at = toTime(x);
  moveTo(at - share * length, length);
}

/** Sets the window; some of the timeline always stays in sight. */
function moveTo(begin, length = view.end - view.begin) {
  begin = Math.min(Math.max(begin, measures.begin - length * 0.9), measures.end - length * 0.1);
  view = {begin, end: begin + length};
  redraw();
}
