'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const tools = document.getElementById('tools');
const mains = [...document.querySelectorAll('main')];
const make = (name, given = {}, ...inside) => {
  const made = document.createElement(name);
  for (const key in given) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), given[key]);
    else made.setAttribute(key, given[key]);
  }
  made.append(...inside);
  return made;
};
const current = () => mains.find((main) => !main.hidden);
const said = () => data.words[current().id.slice(5)];
const styleOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const save = (name, blob) => {
  const link = make('a', {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

// Search and filter: what does not match is hidden, and a folded part with a match is opened.
const query = make('input', {type: 'search', oninput: () => filter()});
const groups = make('span', {class: 'controls'});
const shown = make('output', {'aria-live': 'polite'});
const hiddenGroups = new Set();
const rows = () => [...current().querySelectorAll('article, tbody tr[data-group]')];
const filter = () => {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  const all = rows();
  for (const row of all) {
    const text = row.textContent.toLowerCase();
    row.hidden = hiddenGroups.has(row.dataset.group) || !words.every((word) => text.includes(word));
    if (row.hidden) continue;
    count += 1;
    const folded = row.closest('details');
    if (words.length && folded) folded.open = true;
  }
  for (const part of current().querySelectorAll('section section, section details')) {
    const inside = [...part.querySelectorAll('article, tbody tr[data-group]')];
    part.hidden = inside.length > 0 && inside.every((row) => row.hidden);
  }
  const active = words.length || hiddenGroups.size;
  shown.textContent = active ? said().shown.replace('{shown}', count).replace('{all}', all.length) : '';
};
const showGroups = () => {
  hiddenGroups.clear();
  const names = [...new Set(rows().map((row) => row.dataset.group).filter(Boolean))];
  groups.replaceChildren(...(names.length < 2 ? [] : names.map((name) => make('button', {
    type: 'button', 'aria-pressed': 'true', onclick: (event) => {
      const on = event.target.getAttribute('aria-pressed') !== 'true';
      event.target.setAttribute('aria-pressed', on);
      hiddenGroups[on ? 'delete' : 'add'](name);
      filter();
    },
  }, name))));
};
const speak = (language) => {
  for (const main of mains) main.hidden = main.id !== 'page-' + language;
  const main = current();
  document.documentElement.lang = main.lang;
  document.title = main.dataset.title;
  query.setAttribute('aria-label', said().search);
  query.placeholder = said().search;
  for (const button of languages) button.setAttribute('aria-pressed', button.dataset.language === language);
  showGroups();
  filter();
  for (const figure of main.querySelectorAll('.chart')) plots.get(figure)?.draw();
};
const languages = mains.map((main) => make('button', {
  type: 'button', lang: main.lang, 'data-language': main.id.slice(5), onclick: () => speak(main.id.slice(5)),
}, main.lang === 'en' ? 'English' : '中文'));

// Files side by side: the other file moves until both lines are at one height; the page itself stays.
document.addEventListener('click', (event) => {
  const link = event.target.closest('.sides a.mark'), line = link && document.getElementById(link.hash.slice(1));
  if (!line || matchMedia('(max-width: 640px)').matches) return;
  event.preventDefault();
  history.replaceState(null, '', link.hash);
  for (const old of document.querySelectorAll('.line.is-target')) old.classList.remove('is-target');
  line.classList.add('is-target');
  line.closest('.scroll').scrollTop += line.getBoundingClientRect().top - link.getBoundingClientRect().top;
});

// Charts: uPlot draws, the rest is here. All charts of a section show the same steps.
const plots = new Map();
const numberText = (value) => value === null || value === undefined ? '–'
  : value === 0 ? '0' : Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6 ? value.toExponential(4) : String(+value.toPrecision(7));
const tickText = (value) => value === null ? '' : Math.abs(value) < 1e-12 ? '0'
  : Math.abs(value) < 1e-3 || Math.abs(value) >= 1e5 ? value.toExponential(1).replace('.0e', 'e') : String(+value.toPrecision(4));
class Plot {
  constructor(figure) {
    Object.assign(this, {figure, chart: data.charts[figure.dataset.chart], off: new Set(), smooth: 0});
    this.logarithmic = this.chart.logarithmic;
    this.said = data.words[figure.closest('main').id.slice(5)];
    this.raw = uPlot.join(this.chart.curves.map((curve) => [curve.steps, curve.values]));
    this.range = [this.raw[0][0] ?? 0, this.raw[0][this.raw[0].length - 1] ?? 1];
    this.view = this.range;
    this.space = make('div', {class: 'plot', tabindex: 0, role: 'group', onkeydown: (event) => this.press(event),
      'aria-label': `${figure.querySelector('figcaption').textContent}. ${this.said.keys}`});
    this.space.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8);
    }, {passive: false});
    this.readout = make('output', {'aria-live': 'polite'});
    figure.querySelector('figcaption').after(this.controls(), this.readout, this.space);
    figure.classList.add('is-live');
    this.draw();
    new ResizeObserver(() => this.resize()).observe(this.space);
  }
  button(name, act, more = {}) {
    return make('button', {type: 'button', onclick: act, ...more}, this.said[name]);
  }
  controls() {
    const legend = this.chart.curves.map((curve, at) => make('button', {
      type: 'button', 'aria-pressed': 'true', onclick: (event) => {
        const off = this.off.delete(at) ? false : Boolean(this.off.add(at));
        event.currentTarget.setAttribute('aria-pressed', !off);
        this.draw();
      },
    }, this.swatch(curve), curve.name));
    const log = this.button('logarithmic', () => {
      this.logarithmic = !this.logarithmic;
      log.setAttribute('aria-pressed', this.logarithmic);
      this.draw();
    }, {'aria-pressed': this.logarithmic});
    const smooth = make('input', {type: 'range', min: 0, max: 0.99, step: 0.01, value: 0, oninput: () => {
      this.smooth = +smooth.value;
      this.draw();
    }});
    return make('div', {class: 'controls'}, ...legend, log, make('label', {}, this.said.smoothing + ' ', smooth),
      this.button('zoom_in', () => this.zoom(0.5)), this.button('zoom_out', () => this.zoom(2)),
      this.button('zoom_reset', () => this.show(this.range)),
      this.button('picture', () => this.picture()), this.button('values', () => this.values()));
  }
  swatch(curve) {
    const sample = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    const line = document.createElementNS(sample.namespaceURI, 'path');
    sample.setAttribute('class', 'swatch');
    sample.setAttribute('viewBox', '0 0 28 8');
    sample.setAttribute('aria-hidden', 'true');
    line.setAttribute('d', 'M0 4h28');
    line.setAttribute('class', 's' + curve.colour);
    line.setAttribute('stroke-width', '3');
    if (curve.dashed) line.setAttribute('stroke-dasharray', '7 5');
    sample.append(line);
    return sample;
  }
  drawn() {
    const level = (value) => value === null || value === undefined ? value
      : this.logarithmic ? (value === 0 ? null : Math.abs(value)) : value;
    const smoothed = (values) => {
      let mean = null;
      return values.map((value) => {
        if (value === null || value === undefined) return value;
        mean = mean === null ? value : mean * this.smooth + value * (1 - this.smooth);
        return mean;
      });
    };
    const [steps, ...curves] = this.raw;
    const main = curves.map((values) => (this.smooth ? smoothed(values) : values).map(level));
    return [steps, ...main, ...(this.smooth ? curves.map((values) => values.map(level)) : [])];
  }
  draw() {
    if (this.figure.closest('[hidden]')) return;
    const width = this.space.clientWidth || 300;
    const at = this.plot?.cursor.idx;
    this.plot?.destroy();
    const text = '12px system-ui, sans-serif', soft = styleOf('--soft'), rule = styleOf('--rule');
    const series = this.chart.curves.map((curve, place) => ({
      label: curve.name, show: !this.off.has(place), stroke: styleOf('--s' + curve.colour), width: 1.6,
      dash: curve.dashed ? [7, 5] : undefined, points: {show: this.raw[0].length < 40}, alpha: 1,
    }));
    const faint = this.smooth ? series.map((one) => ({...one, alpha: 0.25, dash: undefined})) : [];
    const axis = {stroke: soft, font: text, grid: {stroke: rule, width: 1}, ticks: {stroke: rule, width: 1}};
    this.plot = new uPlot({
      width, height: width < 500 ? 240 : 300, legend: {show: false}, padding: [8, 28, 0, 0],
      cursor: {drag: {x: true, y: false, setScale: false}, sync: {key: this.figure.closest('section')?.id ?? 'page'}, y: false},
      scales: {x: {time: false, range: () => this.view}, y: this.scale()},
      axes: [{...axis, space: 70, values: (_, marks) => marks.map((mark) => Number.isInteger(mark) ? mark.toLocaleString('en') : '')},
        {...axis, size: 68, values: (_, marks) => marks.map((mark) => tickText(mark) + (mark === null ? '' : this.chart.unit))}],
      series: [{}, ...series, ...faint],
      hooks: {
        drawClear: [(plot) => { for (const one of plot.series) one.width = this.lineWidth(plot); }],
        setCursor: [(plot) => this.read(plot.cursor.idx)],
        setSelect: [(plot) => {
          if (plot.select.width < 6) return;
          this.show([plot.posToVal(plot.select.left, 'x'), plot.posToVal(plot.select.left + plot.select.width, 'x')]);
          plot.setSelect({left: 0, width: 0, top: 0, height: 0}, false);
        }],
        draw: [(plot) => this.flags(plot)],
      },
    }, this.drawn(), this.space);
    if (at !== null && at !== undefined) this.read(at);
  }
  // Wide or dashed strokes of a dense curve take most of a frame; a line of one device pixel takes a tenth of it.
  lineWidth(plot) {
    const [low, high] = this.view, dense = plot.valToIdx(high) - plot.valToIdx(low) > plot.width;
    return dense ? 1 / devicePixelRatio : 1.6;
  }
  scale() {
    if (this.logarithmic) return {distr: 3};
    if (!this.chart.centred) return {};
    return {range: (_, low, high) => {
      const most = Math.max(Math.abs(low ?? 0), Math.abs(high ?? 0)) * 1.06 || 1e-9;
      return [-most, most];
    }};
  }
  flags(plot) {
    const {ctx, bbox} = plot;
    ctx.save();
    ctx.strokeStyle = styleOf('--bad');
    ctx.setLineDash([4, 4]);
    for (const flag of this.chart.flags) {
      if (flag < this.view[0] || flag > this.view[1]) continue;
      const left = plot.valToPos(flag, 'x', true);
      ctx.beginPath();
      ctx.moveTo(left, bbox.top);
      ctx.lineTo(left, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }
  read(at) {
    if (at === null || at === undefined) { this.readout.textContent = ''; return; }
    const values = this.raw.slice(1).map((curve) => curve[at]);
    const words = values.map((value, place) => `${this.chart.curves[place].name} ${numberText(value)}${value === null || value === undefined ? '' : this.chart.unit}`);
    if (values.length === 2 && values.every(Number.isFinite)) {
      const [a, b] = values, share = a ? ` (${numberText(+((b - a) / Math.abs(a) * 100).toPrecision(3))}%)` : '';
      words.push(`${this.said.difference} ${numberText(b - a)}${share}`);
    }
    const step = this.chart.labels[at] ?? `${this.figure.dataset.step} ${this.raw[0][at].toLocaleString('en')}`;
    this.readout.textContent = [step, ...words].join('   ');
  }
  show([low, high]) {
    const least = Math.min(4, this.range[1] - this.range[0]);
    const middle = (low + high) / 2, half = Math.max(high - low, least) / 2;
    const view = [Math.max(this.range[0], middle - half), Math.min(this.range[1], middle + half)];
    const home = this.figure.closest('section');
    for (const other of plots.values()) {
      if (other.figure.closest('section') !== home || other.figure.closest('main') !== this.figure.closest('main')) continue;
      other.view = view[1] > view[0] ? view : other.range;
      other.plot?.setData(other.plot.data);
    }
  }
  zoom(factor) {
    const [low, high] = this.view, at = this.plot.cursor.idx;
    const middle = at === null || at === undefined ? (low + high) / 2 : this.raw[0][at];
    this.show([middle - (middle - low) * factor, middle + (high - middle) * factor]);
  }
  press(event) {
    const {plot} = this, [low, high] = this.view, wide = high - low;
    const first = plot.valToIdx(low), last = plot.valToIdx(high), at = plot.cursor.idx ?? first;
    const jump = event.shiftKey ? Math.max(1, Math.round((last - first) / 20)) : 1;
    const acts = {
      ArrowLeft: () => this.point(Math.max(first, at - jump)), ArrowRight: () => this.point(Math.min(last, at + jump)),
      Home: () => this.point(first), End: () => this.point(last),
      '+': () => this.zoom(0.5), '=': () => this.zoom(0.5), '-': () => this.zoom(2), 0: () => this.show(this.range),
      PageUp: () => this.show([low - wide / 2, high - wide / 2]), PageDown: () => this.show([low + wide / 2, high + wide / 2]),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }
  point(at) {
    const {plot} = this;
    plot.setCursor({left: plot.valToPos(this.raw[0][at], 'x'), top: plot.over.clientHeight / 2});
    this.read(at);
  }
  resize() {
    const width = this.space.clientWidth;
    if (width && this.plot && Math.abs(width - this.plot.width) > 1) this.plot.setSize({width, height: width < 500 ? 240 : 300});
  }
  picture() {
    const source = this.plot.ctx.canvas, ratio = source.width / this.plot.width, head = 28 * ratio;
    const made = make('canvas', {width: source.width, height: source.height + head}), pen = made.getContext('2d');
    pen.fillStyle = styleOf('--paper');
    pen.fillRect(0, 0, made.width, made.height);
    pen.drawImage(source, 0, head);
    pen.font = `${13 * ratio}px system-ui, sans-serif`;
    pen.fillStyle = styleOf('--ink');
    let left = 8 * ratio;
    for (const [text, colour] of [[this.figure.querySelector('figcaption').textContent, '--ink'],
      ...this.chart.curves.map((curve) => [curve.name, '--s' + curve.colour])]) {
      pen.fillStyle = styleOf(colour);
      pen.fillText(text, left, 19 * ratio);
      left += pen.measureText(text).width + 16 * ratio;
    }
    made.toBlob((blob) => save(this.figure.dataset.name + '.png', blob));
  }
  values() {
    const quote = (text) => `"${String(text).replace(/"/g, '""').replace(/^([=+\-@])/, "'$1")}"`;
    const lines = [['step', ...this.chart.curves.map((curve) => quote(curve.name))].join(',')];
    this.raw[0].forEach((step, at) => lines.push([step, ...this.raw.slice(1).map((curve) => curve[at] ?? '')].join(',')));
    save(this.figure.dataset.name + '.csv', new Blob([lines.join('\n') + '\n'], {type: 'text/csv'}));
  }
}

tools.append(...(mains.length > 1 ? languages : []));
if (mains.some((main) => main.querySelector('article, tbody tr[data-group]'))) tools.append(query, groups, shown);
tools.hidden = !tools.childElementCount;
for (const figure of document.querySelectorAll('.chart')) plots.set(figure, new Plot(figure));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => plots.forEach((plot) => plot.draw()));
speak(mains[0].id.slice(5));
