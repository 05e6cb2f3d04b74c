// The header, the tables below the timeline, and the start of the page.

function swatched(stream) {
  const cell = element("td");
  const mark = element("span", undefined, "swatch");
  mark.style.background = color(stream);
  cell.append(mark, data.streams[stream].label);
  return cell;
}

function amount(ns, whole) {
  const cell = element("td", duration(ns) + " ");
  cell.append(element("small", percent(whole > 0 ? ns / whole : 0)));
  return cell;
}

function part(share, stream, hatched) {
  const bar = element("i", undefined, hatched ? "hatch" : "");
  bar.style.width = 100 * share + "%";
  if (hatched) bar.style.setProperty("--ink", color(stream));
  else bar.style.background = color(stream);
  return bar;
}

function headRow(table, names) {
  const row = table.createTHead().insertRow();
  for (const name of names) row.append(element("th", name, name === "" ? "bar" : ""));
}

function showNumbers() {
  const wall = measures.end - measures.begin;
  const busy = measures.busy.reduce((sum, value) => sum + value, 0);
  const stats = document.getElementById("stats");
  stats.replaceChildren();
  for (const [name, value, why] of [
    ["Wall time", duration(wall), "From the first begin to the last end"],
    ["Sum of busy", duration(busy), "The streams' busy times added"],
    ["Parallelism", (wall > 0 ? busy / wall : 0).toFixed(2) + "×", "Sum of busy / wall time"],
  ]) {
    const box = element("div");
    box.title = why;
    box.append(element("dt", name), element("dd", value));
    stats.append(box);
  }
  const operators = measures.operators.reduce((sum, value) => sum + value, 0);
  document.getElementById("subtitle").textContent = [
    data.predicted ? "Predicted" : "Recorded",
    plural(data.streams.length, "stream"),
    plural(operators, "operator"),
    (selectedCall ? "1 of " : "") + plural(data.calls.length, "call"),
  ].join(" · ");
  showStreams(wall);
  showPairs();
}

function showStreams(wall) {
  const table = document.getElementById("streams");
  table.replaceChildren();
  headRow(table, ["Stream", "Operators", "Busy", "Waiting", "Idle", ""]);
  const body = table.createTBody();
  measures.busy.forEach((busy, stream) => {
    const waiting = measures.waiting[stream];
    const row = body.insertRow();
    const track = element("div", undefined, "track");
    if (wall > 0) {
      track.append(part(busy / wall, stream, false), part(waiting / wall, stream, true));
    }
    const cell = element("td", undefined, "bar");
    cell.append(track);
    const operators = element("td", measures.operators[stream].toLocaleString("en"));
    row.append(swatched(stream), operators, amount(busy, wall), amount(waiting, wall),
               amount(wall - busy - waiting, wall), cell);
  });
}

function showPairs() {
  const table = document.getElementById("pairs");
  table.replaceChildren();
  const overlaps = new Map(measures.overlaps.map(([a, b, time]) => [`${a} ${b}`, time]));
  const pairs = [];
  measures.busy.forEach((first, a) => measures.busy.forEach((second, b) => {
    const smaller = Math.min(first, second);
    if (a >= b || smaller === 0) return;
    const time = overlaps.get(`${a} ${b}`) || 0;
    pairs.push({a, b, time, share: time / smaller});
  }));
  if (!pairs.length) return;
  pairs.sort((x, y) => y.time - x.time);
  headRow(table, ["Two streams", "Overlap", "of the smaller busy time", ""]);
  const body = table.createTBody();
  for (const {a, b, time, share} of pairs) {
    const row = body.insertRow();
    const names = swatched(a);
    const mark = element("span", undefined, "swatch");
    mark.style.cssText = `margin-left: 10px; background: ${color(b)}`;
    names.append(mark, data.streams[b].label);
    const track = element("div", undefined, "track");
    const both = part(share, b, false);
    both.style.background = `linear-gradient(${color(a)} 50%, ${color(b)} 50%)`;
    track.append(both);
    const cell = element("td", undefined, "bar");
    cell.append(track);
    row.append(names, element("td", duration(time)), element("td", percent(share)), cell);
  }
}

function fillCalls() {
  const menu = document.getElementById("call");
  const programs = new Set(data.calls.map((call) => call.program));
  menu.append(new Option(`All ${data.calls.length} calls`, "all"));
  data.calls.forEach((call, i) => {
    const program = programs.size > 1 ? strings[call.program] + " · " : "";
    const time = duration(call.end - call.begin);
    menu.append(new Option(`${program}call ${call.call} · ${time}`, i));
  });
  menu.hidden = data.calls.length <= 1;
  menu.addEventListener("change", () => {
    select(menu.value === "all" ? null : data.calls[menu.value]);
    runSearch();
  });
}

document.getElementById("title").textContent = data.title || "timeline";
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  readTheme();
  redraw();
});
window.addEventListener("resize", resize);
fillCalls();
readTheme();
select(null);
draw();
