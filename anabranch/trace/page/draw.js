// Draws the timeline.

let pending = false;
function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; draw(); });
}

function draw() {
  ink.textBaseline = "middle";
  ink.fillStyle = theme.panel;
  ink.fillRect(0, 0, width, height);
  const ticks = makeTicks();
  drawGrid(ticks);
  ink.save();
  ink.beginPath();
  ink.rect(GUTTER, AXIS, width - GUTTER, height - AXIS);
  ink.clip();
  lanes.forEach((lane, stream) => {
    const top = laneTop(stream);
    if (top > height || top + laneHeight < AXIS) return;
    lane.rows.forEach((row, r) => {
      const box = rowBox(stream, r);
      drawWaits(stream, row, box);
      drawSpans(stream, row, box);
    });
  });
  drawArrows();
  drawPicked();
  ink.restore();
  drawAxis(ticks);
  drawNames();
  drawScrollMark();
  drawPointer();
}

function drawWaits(stream, row, box) {
  const list = row.waits;
  let left = 0, right = -Infinity;  // waits of a few pixels, drawn as one
  const flush = () => {
    if (right > left) {
      ink.fillStyle = hatch(stream);
      ink.fillRect(left, box.top, right - left, box.height);
    }
    right = -Infinity;
  };
  ink.globalAlpha = matches ? 0.35 : 1;
  for (let k = firstVisible(list, arrows.end, view.begin); k < list.length; k++) {
    const i = list[k];
    if (arrows.begin[i] > view.end) break;
    const from = Math.max(toX(arrows.begin[i]), GUTTER - 8);
    const to = Math.min(toX(arrows.end[i]), width + 8);
    if (from - right > 2 || to - from >= 12) flush();
    if (to - from >= 12) {
      drawWait(stream, i, from, to, box);
    } else {
      if (right === -Infinity) left = from;
      right = Math.max(right, to);
    }
  }
  flush();
  ink.globalAlpha = 1;
}

function drawWait(stream, i, left, right, box) {
  ink.fillStyle = hatch(stream);
  roundBox(left, box.top, right - left, box.height, 4);
  ink.fill();
  ink.save();
  ink.globalAlpha *= 0.55;
  ink.strokeStyle = color(stream);
  ink.lineWidth = 1;
  roundBox(left + 0.5, box.top + 0.5, right - left - 1, box.height - 1, 4);
  ink.stroke();
  ink.restore();
  if (box.height >= 16) drawWaitLabel(i, Math.max(left, GUTTER), Math.min(right, width), box);
}

function drawWaitLabel(i, left, right, box) {
  font(400, 11.5);
  const event = strings[arrows.event[i]];
  const time = duration(arrows.end[i] - arrows.begin[i]);
  const what = event || data.streams[arrows.from[i]].label;
  const forms = [`waits for ${what} · ${time}`, `waits ${time}`, time];
  const text = forms.find((form) => textWidth(form) <= right - left - 24);
  if (!text) return;
  const length = textWidth(text);
  const middle = box.top + box.height / 2;
  const start = left + (right - left - length) / 2;
  ink.fillStyle = theme.panel;
  roundBox(start - 7, middle - 9, length + 14, 18, 4);
  ink.fill();
  ink.fillStyle = theme.muted;
  ink.textAlign = "left";
  ink.fillText(text, start, middle + 0.5);
}

const matching = (i) => !matches || matches[i] === 1;

/** Bars under a pixel or two merge into one whose strength shows how much of it ran. */
function drawSpans(stream, row, box) {
  const list = row.spans;
  const fill = color(stream);
  if (labelsAbove(stream)) box.labelled = GUTTER;  // where the next label above may begin
  let run = null;
  const flush = () => {
    if (!run) return;
    const length = Math.max(run.right - run.left, 1.5);
    if (run.count === 1) labelOutside(row, run.last, run.left, run.right, box, run.match);
    ink.globalAlpha = (run.match ? 1 : 0.18) * (0.45 + 0.55 * Math.min(1, run.covered / length));
    ink.fillStyle = fill;
    ink.fillRect(run.left, box.top, length, box.height);
    ink.globalAlpha = 1;
    run = null;
  };
  for (let k = firstVisible(list, spans.end, view.begin); k < list.length; k++) {
    const i = list[k];
    if (spans.begin[i] > view.end) break;
    const left = toX(spans.begin[i]), right = toX(spans.end[i]);
    if (right - left >= 3) {
      flush();
      drawBar(i, fill, Math.max(left, GUTTER - 8), Math.min(right, width + 8), box);
    } else {
      const match = matching(i);
      // What a search found stays visible: within a pixel it wins over its neighbours.
      if (run && (left - run.right > 1 || (match !== run.match && run.right - run.left > 1.5))) {
        flush();
      }
      if (!run) run = {left, right, covered: 0, count: 0, match};
      run.right = Math.max(run.right, right, left + 1);
      run.covered += right - left;
      run.count++;
      run.match ||= match;
      run.last = k;
      continue;
    }
    if (right - left < 44) labelOutside(row, k, left, right, box, matching(i));
  }
  flush();
}

function drawBar(i, fill, left, right, box) {
  const match = matching(i);
  const gap = right - left > 6 ? 0.5 : 0;  // a hair between neighbours
  ink.globalAlpha = match ? 1 : 0.18;
  ink.fillStyle = fill;
  roundBox(left + gap, box.top, right - left - 2 * gap, box.height, 4);
  ink.fill();
  const from = Math.max(left, GUTTER) + 9;
  const room = Math.min(right, width) - from - 7;
  ink.globalAlpha = match ? 1 : 0.6;
  ink.fillStyle = match ? "#ffffff" : theme.muted;
  if (room > 18 && box.height >= 13) drawBarText(i, from, room, box);
  ink.globalAlpha = 1;
}

function drawBarText(i, x, room, box) {
  const two = box.height >= 36;
  const y = box.top + box.height / 2 - (two ? 8.5 : 0) + 0.5;
  ink.textAlign = "left";
  font(650, box.height < 20 ? 11.5 : 13);
  const name = fitText(strings[spans.name[i]], room);
  if (!name) return;
  ink.fillText(name, x, y);
  const after = textWidth(name) + 9;
  const time = duration(spans.end[i] - spans.begin[i]);
  const about = [strings[spans.type[i]], shapesOf(i)]
      .filter((text) => text && text !== strings[spans.name[i]]);
  font(400, box.height < 20 ? 11.5 : 12.5);
  // A cut number would mislead: the time stands whole or not at all.
  if (textWidth(time) <= room - after) {
    const beside = two ? "" : fitText([time, ...about].join(" · "), room - after);
    ink.fillText(beside || time, x + after, y);
  }
  if (!two) return;
  font(400, 11.5);
  const [first = ""] = about;
  const whole = about.join("  ");
  const line = fitText(whole, room);
  // A stump of the shapes says nothing.
  const useful = line === whole || line.length > first.length + 10;
  ink.fillText(useful ? line : fitText(first, room), x, y + 17.5);
}

function shapesOf(i) {
  const operands = strings[spans.operands[i]], results = strings[spans.results[i]];
  return operands && results ? `${operands} → ${results}` : operands || results;
}

/** The name of a bar too small to hold it: to its right if nothing follows there, else above it. */
function labelOutside({spans: list, waits}, k, left, right, box, match) {
  if (box.height < 13 || left < GUTTER) return;
  const i = list[k];
  const wait = waits[firstVisible(waits, arrows.begin, spans.end[i])];
  const next = Math.min(k + 1 < list.length ? toX(spans.begin[list[k + 1]]) : width,
                        wait === undefined ? width : toX(arrows.begin[wait]));
  const name = strings[spans.name[i]];
  const time = duration(spans.end[i] - spans.begin[i]);
  const two = box.height >= 36;
  const middle = box.top + box.height / 2 + 0.5;
  if (next - right > 20) {
    font(600, 12);
    const room = two ? Math.max(textWidth(name), textWidth(time)) : textWidth(name + "  " + time);
    if (right + 10 + room < next) {
      const [rise, dx, dy] = two ? [8, 0, 17] : [0, textWidth(name) + 7, 0];
      writePair(name, time, right + 6, middle - rise, dx, dy, match);
      return;
    }
  }
  if (!box.labelled || left < box.labelled) return;
  font(600, 12);
  const gap = textWidth(name) + 7;
  writePair(name, time, left + 1, box.top - 9, gap, 0, match);
  box.labelled = left + gap + textWidth(time) + 10;
}

function writePair(name, time, x, y, dx, dy, match) {
  ink.globalAlpha = match ? 1 : 0.3;
  ink.textAlign = "left";
  font(600, 12);
  ink.fillStyle = theme.text;
  ink.fillText(name, x, y);
  font(400, 11.5);
  ink.fillStyle = theme.muted;
  ink.fillText(time, x + dx, y + dy);
  ink.globalAlpha = 1;
}

const MOST_ARROWS = 250;  // more of them hide what they connect

function drawArrows() {
  const drawn = new Map();
  for (const i of shownArrows) {
    const from = toX(arrows.recorded[i]), to = toX(arrows.end[i]);
    if (Math.max(from, to) < GUTTER || Math.min(from, to) > width) continue;
    // Zoomed out, arrows fall on one another.
    drawn.set(`${arrows.from[i]} ${arrows.to[i]} ${from >> 2} ${to >> 2}`, [i, from, to]);
    if (drawn.size > MOST_ARROWS) break;
  }
  if (drawn.size > MOST_ARROWS) {
    noteHiddenArrows();
  } else {
    for (const [i, from, to] of drawn.values()) drawArrow(i, from, to);
  }
}

function noteHiddenArrows() {
  font(400, 12);
  const text = "Zoom in to see the arrows from record to wait";
  const length = textWidth(text) + 20;
  ink.fillStyle = theme.text;
  roundBox(width - length - 12, height - 34, length, 24, 6);
  ink.fill();
  ink.fillStyle = theme.panel;
  ink.textAlign = "left";
  ink.fillText(text, width - length - 2, height - 21.5);
}

/** The row in which the recording call runs. */
function recordingRow(i) {
  const rows = lanes[arrows.from[i]].rows;
  const row = rows.length < 2 ? 0 : rows.findIndex(({spans: list}) => {
    const next = firstVisible(list, spans.end, arrows.recorded[i] + 1);
    const last = list[next - 1];
    return last !== undefined && spans.call[last] === arrows.call[i] &&
           spans.program[last] === arrows.program[i];
  });
  return Math.max(0, row);
}

/** From the lower or upper edge of the recording lane to the facing edge of the waiting lane. */
function drawArrow(i, from, to) {
  const down = arrows.to[i] > arrows.from[i];
  const source = rowBox(arrows.from[i], recordingRow(i));
  const target = rowBox(arrows.to[i], Math.min(arrows.row[i], lanes[arrows.to[i]].rows.length - 1));
  const y0 = down ? source.top + source.height : source.top;
  const y1 = (down ? target.top : target.top + target.height) + (down ? -1 : 1);
  const touched = picked && picked.kind === "wait" && picked.index === i;
  const reach = (y1 - y0) * 0.5;
  const trace = () => {
    ink.beginPath();
    ink.moveTo(from, y0 + (down ? -7 : 7));
    ink.lineTo(from, y0);
    ink.bezierCurveTo(from, y0 + reach, to, y1 - reach, to, y1 - (down ? 5 : -5));
    ink.stroke();
  };
  ink.globalAlpha = matches ? 0.2 : 0.85;
  ink.setLineDash([]);
  ink.strokeStyle = theme.panel;  // a halo lifts the dashes off the bars they cross
  ink.lineWidth = 4;
  trace();
  ink.globalAlpha = matches ? 0.35 : 1;
  ink.strokeStyle = ink.fillStyle = touched ? theme.accent : theme.arrow;
  ink.lineWidth = touched ? 2.4 : 1.6;
  ink.setLineDash([5, 3]);
  trace();
  ink.beginPath();
  const back = down ? -7 : 7;
  ink.moveTo(to, y1 + (down ? 2 : -2));
  ink.lineTo(to - 4.5, y1 + back);
  ink.lineTo(to + 4.5, y1 + back);
  ink.fill();
  ink.setLineDash([]);
  ink.beginPath();
  ink.arc(from, y0 + (down ? -7 : 7), 2.6, 0, 7);
  ink.fill();
  ink.globalAlpha = 1;
}

function drawPicked() {
  const item = picked || hit();
  if (!item) return;
  const columns = item.kind === "span" ? spans : arrows;
  const stream = item.kind === "span" ? spans.stream[item.index] : arrows.to[item.index];
  const box = rowBox(stream, Math.min(columns.row[item.index], lanes[stream].rows.length - 1));
  const left = Math.max(toX(columns.begin[item.index]), GUTTER - 8);
  const right = Math.min(Math.max(toX(columns.end[item.index]), left + 2), width + 8);
  ink.strokeStyle = theme.text;
  ink.lineWidth = picked ? 2.5 : 1.5;
  roundBox(left - 1, box.top - 1, right - left + 2, box.height + 2, 4);
  ink.stroke();
}
