// Around the bars: time axis, grid, names of the streams, scroll mark, pointer.

function makeTicks() {
  const length = view.end - view.begin;
  const rough = length / Math.max(2, (width - GUTTER) / 110);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].find((m) => m * power >= rough) * power);
  // Times count from the start of what is shown.
  const first = Math.ceil((view.begin - measures.begin) / step);
  const ticks = [];
  for (let k = first; measures.begin + k * step <= view.end; k++) ticks.push(k * step);
  return {step, ticks};
}

/** All labels of one axis in one unit and with as many digits as its step needs. */
function tickLabel(value, step) {
  const most = Math.max(Math.abs(value), step);
  const [size, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]
      .find(([least]) => most >= least);
  const digits = Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9));
  return value === 0 ? "0" : `${(value / size).toFixed(digits)} ${unit}`;
}

function drawGrid({ticks}) {
  for (let stream = 0; stream < lanes.length; stream++) {
    const top = laneTop(stream);
    if (stream % 2) {
      ink.fillStyle = theme.stripe;
      ink.fillRect(0, top, width, laneHeight);
    }
  }
  ink.fillStyle = theme.grid;
  for (const tick of ticks) {
    const x = Math.round(toX(measures.begin + tick));
    if (x > GUTTER) ink.fillRect(x, AXIS, 1, height - AXIS);
  }
}

function drawAxis({step, ticks}) {
  ink.fillStyle = theme.panel;
  ink.fillRect(0, 0, width, AXIS);
  ink.fillStyle = theme.line;
  ink.fillRect(0, AXIS - 1, width, 1);
  font(400, 11.5);
  ink.textAlign = "left";
  for (const tick of ticks) {
    const x = Math.round(toX(measures.begin + tick));
    if (x < GUTTER) continue;
    ink.fillStyle = theme.line;
    ink.fillRect(x, AXIS - 8, 1, 7);
    ink.fillStyle = theme.muted;
    const label = tickLabel(tick, step);
    if (x + 5 + textWidth(label) < width) ink.fillText(label, x + 5, AXIS / 2 - 1);
  }
}

function drawNames() {
  ink.fillStyle = theme.panel;
  ink.fillRect(0, AXIS, GUTTER - 1, height);
  for (let stream = 0; stream < lanes.length; stream++) {
    const top = laneTop(stream);
    if (top > height || top + laneHeight < AXIS) continue;
    drawName(stream, top);
  }
  ink.fillStyle = theme.panel;
  ink.fillRect(0, 0, GUTTER - 1, AXIS - 1);
  ink.fillStyle = theme.line;
  ink.fillRect(GUTTER - 1, 0, 1, height);
  font(400, 11.5);
  ink.fillStyle = theme.muted;
  ink.textAlign = "left";
  ink.fillText("Stream", 20, AXIS / 2 - 1);
}

/** Shows that there are more streams than fit, and where these are among them. */
function drawScrollMark() {
  const whole = laneHeight * lanes.length + 6, shown = height - AXIS;
  if (whole <= shown + 1) return;
  ink.fillStyle = theme.faint;
  roundBox(width - 8, AXIS + 2 + (scroll / whole) * shown, 5, (shown / whole) * shown - 4, 2.5);
  ink.fill();
}

function drawName(stream, top) {
  const middle = top + laneHeight / 2;
  const {label, priority} = data.streams[stream];
  if (stream % 2) {
    ink.fillStyle = theme.stripe;
    ink.fillRect(0, top, GUTTER - 1, laneHeight);
  }
  const tall = laneHeight >= 40;
  ink.fillStyle = color(stream);
  ink.fillRect(0, top + (tall ? 7 : 3), 5, laneHeight - (tall ? 14 : 6));
  ink.textAlign = "left";
  ink.fillStyle = theme.text;
  font(600, 13);
  ink.fillText(fitText(label, GUTTER - 30), 20, tall ? middle - 8 : middle);
  if (!tall) return;
  const wall = Math.max(1, measures.end - measures.begin);
  ink.fillStyle = theme.muted;
  font(400, 11.5);
  const busy = `${percent(measures.busy[stream] / wall)} busy`;
  ink.fillText(fitText(`${busy} · priority ${priority}`, GUTTER - 30), 20, middle + 9);
}

function drawPointer() {
  if (!pointer || drag || pointer.x < GUTTER) return;
  const x = Math.round(pointer.x);
  ink.fillStyle = theme.faint;
  ink.globalAlpha = 0.6;
  ink.fillRect(x, AXIS, 1, height - AXIS);
  ink.globalAlpha = 1;
  font(600, 11.5);
  const text = duration(toTime(pointer.x) - measures.begin);
  const length = textWidth(text) + 12;
  const left = Math.min(Math.max(x - length / 2, GUTTER), width - length);
  ink.fillStyle = theme.text;
  roundBox(left, 4, length, AXIS - 9, 4);
  ink.fill();
  ink.fillStyle = theme.panel;
  ink.textAlign = "center";
  ink.fillText(text, left + length / 2, AXIS / 2);
}
