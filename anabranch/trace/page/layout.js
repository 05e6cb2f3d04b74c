// Where things are: lanes, rows, and the pens that draw in them.

let laneHeight = 64;

function resize() {
  const available = window.innerHeight - stage.offsetTop;
  const count = Math.max(1, lanes.length);
  const most = Math.max(120, Math.min(available * 0.68, available - 150)) - AXIS;
  laneHeight = Math.floor(Math.min(92, Math.max(24, most / count)));
  height = AXIS + Math.round(Math.min(laneHeight * count, Math.max(most, 96))) + 6;
  stage.style.height = height + "px";
  width = stage.clientWidth;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  ink.setTransform(ratio, 0, 0, ratio, 0, 0);
  scrollTo(scroll);
  readTheme();
  redraw();
}

function scrollTo(y) {
  scroll = Math.max(0, Math.min(y, AXIS + laneHeight * lanes.length + 6 - height));
}

const laneTop = (stream) => AXIS + 3 + stream * laneHeight - scroll;

/** High lanes keep a line for the names of operators too short to hold them. */
const labelsAbove = (stream) => laneHeight >= 64 && lanes[stream].rows.length === 1;

/** Top and height of the bars of one row. */
function rowBox(stream, row) {
  const below = laneHeight >= 40 ? 7 : 3;
  const above = labelsAbove(stream) ? 20 : below;
  const each = (laneHeight - above - below) / lanes[stream].rows.length;
  const gap = each > 8 ? 1 : 0;
  return {top: laneTop(stream) + above + row * each, height: Math.max(2, each - gap)};
}

/** First position in `list` whose item ends after `time`; items of a row do not overlap. */
function firstVisible(list, ends, time) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[list[middle]] < time) low = middle + 1; else high = middle;
  }
  return low;
}

function readTheme() {
  const style = getComputedStyle(document.documentElement);
  theme = {};
  const names = ["panel", "line", "grid", "stripe", "text", "muted", "faint", "accent", "arrow"];
  for (const name of names) {
    theme[name] = style.getPropertyValue("--" + name).trim();
  }
  theme.family = getComputedStyle(document.body).fontFamily;
  theme.dark = matchMedia("(prefers-color-scheme: dark)").matches;
  hatches.clear();
}

const hatches = new Map();

function hatch(stream) {
  if (hatches.has(stream)) return hatches.get(stream);
  const ratio = window.devicePixelRatio || 1;
  const tile = document.createElement("canvas");
  const side = 7 * ratio;
  tile.width = tile.height = Math.round(side);
  const pen = tile.getContext("2d");
  pen.strokeStyle = color(stream);
  pen.globalAlpha = theme.dark ? 0.75 : 0.5;
  pen.lineWidth = 1.3 * ratio;
  for (const shift of [-side, 0, side]) {
    pen.beginPath();
    pen.moveTo(shift - 1, side + 1);
    pen.lineTo(shift + side + 1, -1);
    pen.stroke();
  }
  const pattern = ink.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  hatches.set(stream, pattern);
  return pattern;
}

const widths = new Map();

function textWidth(text) {
  const key = ink.font + text;
  let known = widths.get(key);
  if (known === undefined) {
    if (widths.size > 20000) widths.clear();
    widths.set(key, known = ink.measureText(text).width);
  }
  return known;
}

/** The text, cut to the room there is; empty when no useful part of it fits. */
function fitText(text, room) {
  const full = textWidth(text);
  if (full <= room) return text;
  const keep = Math.floor(text.length * (room - textWidth("…")) / full) - 1;
  return keep >= 4 ? text.slice(0, keep) + "…" : "";
}

const font = (weight, size) => { ink.font = `${weight} ${size}px ${theme.family}`; };

function roundBox(x, y, w, h, radius) {
  ink.beginPath();
  if (ink.roundRect && w > 2 * radius) ink.roundRect(x, y, w, h, radius); else ink.rect(x, y, w, h);
}
