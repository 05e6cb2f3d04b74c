// Pointer, wheel, search and keys.

/** What lies under the pointer: an operator, else a wait. A few pixels beside a bar count. */
function hit() {
  if (!pointer || pointer.x < GUTTER || pointer.y < AXIS) return null;
  const stream = Math.floor((pointer.y - AXIS - 3 + scroll) / laneHeight);
  if (stream < 0 || stream >= lanes.length) return null;
  const rows = lanes[stream].rows;
  let row = 0;
  while (row + 1 < rows.length && pointer.y >= rowBox(stream, row + 1).top) row++;
  const slack = 3 / scale();
  const time = toTime(pointer.x);
  const candidates = [["span", rows[row].spans, spans], ["wait", rows[row].waits, arrows]];
  for (const [kind, list, columns] of candidates) {
    let best = null, distance = slack;
    for (let k = firstVisible(list, columns.end, time - slack); k < list.length; k++) {
      const i = list[k];
      if (columns.begin[i] > time + slack) break;
      const off = Math.max(columns.begin[i] - time, time - columns.end[i], 0);
      if (off < distance || best === null) [best, distance] = [i, off];
      if (off === 0) break;
    }
    if (best !== null) return {kind, index: best};
  }
  return null;
}

function element(tag, text, className) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}

function showTip(item) {
  if (!item) {
    tip.style.display = "none";
    return;
  }
  tip.replaceChildren(...(item.kind === "span" ? spanTip(item.index) : waitTip(item.index)));
  tip.style.display = "block";
  const box = tip.getBoundingClientRect();
  const area = stage.getBoundingClientRect();
  let x = area.left + pointer.x + 16, y = area.top + pointer.y + 18;
  if (x + box.width > innerWidth - 8) x = Math.max(8, x - box.width - 32);
  if (y + box.height > innerHeight - 8) y = Math.max(8, y - box.height - 36);
  tip.style.left = x + "px";
  tip.style.top = y + "px";
}

function tipRows(title, kind, rows) {
  const list = element("dl");
  for (const [key, value] of rows) {
    if (value) list.append(element("dt", key), element("dd", value));
  }
  return [element("b", title), element("span", kind, "kind"), list];
}

const callName = (columns, i) =>
    [strings[columns.program[i]], `call ${columns.call[i]}`].filter(Boolean).join(", ");

function spanTip(i) {
  return tipRows(strings[spans.name[i]], strings[spans.type[i]], [
    ["operator", strings[spans.op[i]]],
    ["operands", strings[spans.operands[i]]],
    ["results", strings[spans.results[i]]],
    ["duration", duration(spans.end[i] - spans.begin[i])],
    ["begins", duration(spans.begin[i] - measures.begin)],
    ["stream", data.streams[spans.stream[i]].label],
    ["threads", spans.threads[i] > 0 ? String(spans.threads[i]) : ""],
    ["source", strings[spans.source[i]]],
    ["call", callName(spans, i)],
  ]);
}

function waitTip(i) {
  return tipRows("waiting", duration(arrows.end[i] - arrows.begin[i]), [
    ["event", strings[arrows.event[i]]],
    ["waiting", data.streams[arrows.to[i]].label],
    ["recorded by", data.streams[arrows.from[i]].label],
    ["recorded at", duration(arrows.recorded[i] - measures.begin)],
    ["went on at", duration(arrows.end[i] - measures.begin)],
    ["call", callName(arrows, i)],
  ]);
}

let drag = null;

canvas.addEventListener("pointerdown", (event) => {
  drag = {x: event.offsetX, y: event.offsetY, begin: view.begin, scroll, moved: false};
  canvas.setPointerCapture(event.pointerId);
  stage.focus({preventScroll: true});
});

canvas.addEventListener("pointermove", (event) => {
  pointer = {x: event.offsetX, y: event.offsetY};
  if (drag) {
    const dx = pointer.x - drag.x, dy = pointer.y - drag.y;
    if (!drag.moved && Math.hypot(dx, dy) < 4) return;
    drag.moved = true;
    canvas.classList.add("dragging");
    scrollTo(drag.scroll - dy);
    moveTo(drag.begin - dx / scale());
    showTip(null);
    return;
  }
  showTip(hit());
  redraw();
});

canvas.addEventListener("pointerup", () => {
  if (drag && !drag.moved) picked = hit();
  drag = null;
  canvas.classList.remove("dragging");
  redraw();
});

canvas.addEventListener("pointercancel", () => {
  drag = null;
  canvas.classList.remove("dragging");
});

canvas.addEventListener("pointerleave", () => {
  pointer = null;
  showTip(null);
  redraw();
});

canvas.addEventListener("dblclick", () => {
  const item = hit();
  if (item) showItem(item);
});

canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  showTip(null);
  const unit = event.deltaMode === 1 ? 20 : 1;
  const dx = (event.deltaX || (event.shiftKey ? event.deltaY : 0)) * unit;
  const dy = event.shiftKey ? 0 : event.deltaY * unit;
  if (event.offsetX < GUTTER) {
    scrollTo(scroll + dy);
    redraw();
    return;
  }
  if (dx) moveTo(view.begin + dx / scale());
  if (dy) zoom(Math.exp(Math.max(-120, Math.min(120, dy)) * 0.003), event.offsetX);
}, {passive: false});

/** Zooms to an operator or a wait, with some of its surroundings. */
function showItem({kind, index}) {
  const columns = kind === "span" ? spans : arrows;
  const length = Math.max(20, columns.end[index] - columns.begin[index]) * 4;
  const stream = kind === "span" ? spans.stream[index] : arrows.to[index];
  picked = {kind, index};
  if (laneTop(stream) < AXIS || laneTop(stream) + laneHeight > height) {
    scrollTo(stream * laneHeight - (height - AXIS - laneHeight) / 2);
  }
  moveTo((columns.begin[index] + columns.end[index] - length) / 2, length);
}

const search = document.getElementById("search");

function runSearch() {
  const wanted = search.value.trim().toLowerCase();
  matches = null;
  matchList = [];
  matchAt = -1;
  if (wanted) {
    const hits = Uint8Array.from(strings, (text) => (text.toLowerCase().includes(wanted) ? 1 : 0));
    matches = new Uint8Array(spanCount);
    const keys = ["name", "type", "op", "operands", "results", "source"];
    const searched = keys.map((key) => spans[key]);
    for (const lane of lanes) {
      for (const row of lane.rows) {
        for (const i of row.spans) {
          if (!searched.some((column) => hits[column[i]])) continue;
          matches[i] = 1;
          matchList.push(i);
        }
      }
    }
    matchList.sort((a, b) => spans.begin[a] - spans.begin[b]);
  }
  showFound();
  redraw();
}

function showFound() {
  const found = document.getElementById("found");
  found.textContent = !matches ? "" : matchAt < 0 ? `${matchList.length.toLocaleString("en")} found`
      : `${matchAt + 1} of ${matchList.length.toLocaleString("en")}`;
}

function nextMatch(step) {
  if (!matchList.length) return;
  matchAt = matchAt < 0 ? (step > 0 ? 0 : matchList.length - 1)
      : (matchAt + step + matchList.length) % matchList.length;
  showItem({kind: "span", index: matchList[matchAt]});
  showFound();
}

search.addEventListener("input", runSearch);
search.addEventListener("keydown", (event) => {
  if (event.key === "Enter") nextMatch(event.shiftKey ? -1 : 1);
  if (event.key === "Escape") {
    search.value = "";
    runSearch();
    stage.focus({preventScroll: true});
  }
});

const pan = (share) => moveTo(view.begin + share * (view.end - view.begin));
const KEYS = {
  ArrowLeft: () => pan(-0.15), a: () => pan(-0.15),
  ArrowRight: () => pan(0.15), d: () => pan(0.15),
  ArrowUp: () => { scrollTo(scroll - laneHeight); redraw(); },
  ArrowDown: () => { scrollTo(scroll + laneHeight); redraw(); },
  "+": () => zoom(0.7), "=": () => zoom(0.7), w: () => zoom(0.7),
  "-": () => zoom(1 / 0.7), s: () => zoom(1 / 0.7),
  f: fit, 0: fit, Home: fit,
  n: () => nextMatch(1), N: () => nextMatch(-1),
  "/": () => search.focus(),
  Escape: () => { picked = null; redraw(); },
};

window.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (["INPUT", "SELECT"].includes(document.activeElement.tagName)) return;
  const action = KEYS[event.key] || KEYS[event.key.toLowerCase()];
  if (!action) return;
  event.preventDefault();
  action();
});

document.getElementById("fit").addEventListener("click", fit);
document.getElementById("in").addEventListener("click", () => zoom(0.6));
document.getElementById("out").addEventListener("click", () => zoom(1 / 0.6));
