const data = JSON.parse(document.getElementById('data').textContent);
const svg = document.querySelector('svg'), tip = document.getElementById('tip');
const hair = document.createElementNS(svg.namespaceURI, 'line');
hair.id = 'hair';
hair.setAttribute('y1', data.top);
hair.setAttribute('y2', data.top + data.height);
svg.appendChild(hair);
const nearest = (wanted) => {
  let low = 0, high = data.steps.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (data.steps[middle] <= wanted) low = middle; else high = middle;
  }
  return wanted - data.steps[low] < data.steps[high] - wanted ? low : high;
};
const hide = () => { tip.style.display = hair.style.display = 'none'; };
svg.addEventListener('pointerleave', hide);
svg.addEventListener('pointermove', (event) => {
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  const share = (at.x - data.left) / data.width;
  if (share < 0 || share > 1 || at.y < data.top || at.y > data.top + data.height) return hide();
  const index = nearest(share * data.last), step = data.steps[index];
  const x = data.left + step / data.last * data.width;
  hair.setAttribute('x1', x);
  hair.setAttribute('x2', x);
  const rates = data.series.map((series, place) => '\n' + 'AB'[place] + '  ' + series[index]).join('');
  tip.textContent = data.step + ' ' + step.toLocaleString('en') + rates;
  tip.style.display = hair.style.display = 'block';
  const box = svg.getBoundingClientRect(), left = x / data.size * box.width;
  tip.style.left = (left > box.width * 0.75 ? left - tip.offsetWidth - 12 : left + 12) + 'px';
  tip.style.top = (event.clientY - box.top + 12) + 'px';
});
