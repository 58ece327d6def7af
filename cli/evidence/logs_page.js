const data = JSON.parse(document.getElementById('data').textContent);
const W = 920, LEFT = 76, RIGHT = 26, TOP = 10, FOOT = 24, NS = 'http://www.w3.org/2000/svg';
const tip = document.getElementById('tip');
let view = data.range.slice();
const put = (parent, name, given, text) => {
  const made = document.createElementNS(NS, name);
  for (const key in given) made.setAttribute(key, given[key]);
  if (text !== undefined) made.textContent = text;
  parent.appendChild(made);
  return made;
};
const ticks = (low, high, count) => {
  if (!(high > low)) return [low];
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= rough * (1 - 1e-9));
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at++) found.push(at * step);
  return found;
};
const label = (value, size) => Math.abs(value) < size * 1e-9 ? '0'
  : (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6) ? value.toExponential(2) : String(+value.toPrecision(5));
const first = (steps, wanted) => {
  let low = 0, high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] < wanted) low = middle + 1; else high = middle;
  }
  return low;
};
const x = (step) => LEFT + (step - view[0]) / (view[1] - view[0]) * (W - LEFT - RIGHT);
const panels = data.panels.map((panel) => {
  const svg = document.getElementById(panel.id), height = panel.height;
  svg.setAttribute('viewBox', `0 0 ${W} ${height}`);
  return {...panel, svg, y: null};
});
const draw = (panel) => {
  const {svg, height} = panel;
  svg.replaceChildren();
  let low = Infinity, high = -Infinity;
  const shown = panel.series.map((series) => {
    const start = Math.max(0, first(series.steps, view[0]) - 1);
    const end = Math.min(series.steps.length, first(series.steps, view[1] + 1) + 1);
    for (let at = start; at < end; at++) {
      const value = series.values[at];
      if (value === null || series.steps[at] < view[0] || series.steps[at] > view[1]) continue;
      low = Math.min(low, value); high = Math.max(high, value);
    }
    return [series, start, end];
  });
  if (low > high) { low = 0; high = 1; }
  if (panel.zero) { high = Math.max(Math.abs(low), Math.abs(high)) || 1e-9; low = -high; }
  const room = (high - low) * 0.06 || Math.abs(high) * 0.06 || 0.5;
  low -= room; high += room;
  const floor = height - FOOT;
  const y = (value) => TOP + (high - value) / (high - low) * (floor - TOP);
  panel.y = y;
  for (const mark of ticks(low, high, 4)) {
    const at = y(mark);
    const zero = Math.abs(mark) < (high - low) * 1e-9;
    put(svg, 'line', {class: zero ? 'axis' : 'rule', x1: LEFT, x2: W - RIGHT, y1: at, y2: at});
    put(svg, 'text', {x: LEFT - 8, y: at + 4, 'text-anchor': 'end'}, label(mark, high - low));
  }
  put(svg, 'line', {class: 'axis', x1: LEFT, x2: W - RIGHT, y1: floor, y2: floor});
  for (const mark of ticks(view[0], view[1], 8)) {
    if (mark !== Math.round(mark)) continue;
    put(svg, 'line', {class: 'axis', x1: x(mark), x2: x(mark), y1: floor, y2: floor + 4});
    put(svg, 'text', {x: x(mark), y: floor + 17, 'text-anchor': 'middle'}, mark.toLocaleString('en'));
  }
  put(svg, 'clipPath', {id: 'clip-' + panel.id});
  put(svg.lastChild, 'rect', {x: LEFT, y: 0, width: W - LEFT - RIGHT, height: floor + 1});
  const group = put(svg, 'g', {'clip-path': `url(#clip-${panel.id})`});
  for (const flag of data.flags) put(group, 'line', {class: 'flag', x1: x(flag), x2: x(flag), y1: TOP, y2: floor});
  for (const [series, start, end] of shown) {
    let path = '', pen = false;
    for (let at = start; at < end; at++) {
      const value = series.values[at], left = x(series.steps[at]);
      if (value === null) {
        pen = false;
        put(group, 'line', {class: 'odd', x1: left, x2: left, y1: floor - 12, y2: floor});
        continue;
      }
      path += (pen ? 'L' : 'M') + left.toFixed(1) + ' ' + y(value).toFixed(1);
      pen = true;
    }
    put(group, 'path', {class: 'line', d: path || 'M0 0', stroke: `var(--s${series.colour})`,
      'stroke-dasharray': series.dash});
  }
  put(group, 'line', {class: 'hair', y1: TOP, y2: floor});
  put(group, 'rect', {class: 'chosen', y: TOP, height: floor - TOP});
};
const redraw = () => panels.forEach(draw);
const zoom = (low, high) => {
  const [least, most] = data.range;
  const wide = Math.max(Math.min(4, most - least), high - low);
  view = [Math.max(least, low), Math.min(most, Math.max(low, least) + wide)];
  if (view[1] - view[0] < wide) view[0] = Math.max(least, view[1] - wide);
  redraw();
};
const stepAt = (svg, event) => {
  const box = svg.getBoundingClientRect();
  const at = (event.clientX - box.left) / box.width * W;
  return view[0] + (at - LEFT) / (W - LEFT - RIGHT) * (view[1] - view[0]);
};
const hide = () => {
  tip.style.display = 'none';
  document.querySelectorAll('.hair').forEach((hair) => { hair.style.display = 'none'; });
};
let drag = null;
for (const panel of panels) {
  const {svg} = panel;
  svg.addEventListener('pointerdown', (event) => { drag = stepAt(svg, event); });
  svg.addEventListener('pointermove', (event) => {
    const wanted = stepAt(svg, event);
    if (wanted < view[0] || wanted > view[1]) return hide();
    const lines = [];
    let step = null;
    for (const series of panel.series) {
      if (!series.steps.length) continue;
      let at = first(series.steps, wanted);
      if (at === series.steps.length || (at > 0 && wanted - series.steps[at - 1] < series.steps[at] - wanted)) at--;
      if (step === null || Math.abs(series.steps[at] - wanted) < Math.abs(step - wanted)) step = series.steps[at];
      const value = series.values[at];
      lines.push(series.name + '  ' + (value === null ? 'NaN' : String(+value.toPrecision(7)))
        + (panel.id === 'relative' && value !== null ? ' %' : ''));
    }
    if (step === null) return hide();
    document.querySelectorAll('.hair').forEach((hair) => {
      hair.style.display = 'block'; hair.setAttribute('x1', x(step)); hair.setAttribute('x2', x(step));
    });
    tip.textContent = data.step + ' ' + step.toLocaleString('en') + '\n' + lines.join('\n');
    tip.style.display = 'block';
    const right = event.pageX + tip.offsetWidth + 24 > document.documentElement.clientWidth;
    tip.style.left = (event.pageX + (right ? -tip.offsetWidth - 14 : 14)) + 'px';
    tip.style.top = (event.pageY + 14) + 'px';
    if (drag !== null) {
      document.querySelectorAll('.chosen').forEach((chosen) => {
        const low = Math.max(view[0], Math.min(drag, wanted)), high = Math.min(view[1], Math.max(drag, wanted));
        chosen.style.display = 'block';
        chosen.setAttribute('x', x(low));
        chosen.setAttribute('width', Math.max(0, x(high) - x(low)));
      });
    }
  });
  svg.addEventListener('pointerleave', hide);
  svg.addEventListener('dblclick', () => zoom(...data.range));
  svg.addEventListener('wheel', (event) => {
    event.preventDefault();
    const at = stepAt(svg, event), factor = event.deltaY > 0 ? 1.25 : 0.8;
    zoom(at - (at - view[0]) * factor, at + (view[1] - at) * factor);
  }, {passive: false});
}
addEventListener('pointerup', (event) => {
  const panel = panels.find((one) => one.svg.contains(event.target)) || panels[0];
  if (drag !== null) {
    const end = stepAt(panel.svg, event), low = Math.min(drag, end), high = Math.max(drag, end);
    if (x(high) - x(low) > 6) zoom(low, high); else redraw();
  }
  drag = null;
});
document.getElementById('reset').addEventListener('click', () => zoom(...data.range));
redraw();
