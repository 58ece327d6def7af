// Filters of the tables on the pages `rules` and `matrix` of the site: text, topic, severity, and a version.

const TEXTS = {
  en: { text: "Filter", topic: "Topic", severity: "Severity", version: "Version", any: "any", proved: "proved on it", shown: "rows" },
  zh: { text: "筛选", topic: "主题", severity: "级别", version: "版本", any: "全部", proved: "已在该版本上证明", shown: "行" },
};
const MEGATRON = /^(0\.\d+|main)$/;

/** True if a version is within `(from 1.7)`, `(up to 0.17)` and their Chinese forms; a name without one always is. */
function holds(bounds, version) {
  const [from] = bounds.match(/(?<=from |自 )[\d.]+/) ?? [];
  const [upTo] = bounds.match(/(?<=up to |至 )[\d.]+/) ?? [];
  const number = (text) => (text === "main" ? [99, 0] : text.split(".").map(Number));
  const before = (a, b) => a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
  const own = number(version);
  return !(from && before(own, number(from))) && !(upTo && before(number(upTo), own));
}

/** True if a cell of the matrix has a name that the version accepts, or no name that depends on a version. */
function accepts(cell, version) {
  const names = cell.innerHTML.split(/<br>|, |、|; |；/);
  const bounds = names.map((name) => name.match(/[(（][^)）]*[)）]/)?.[0] ?? "");
  return bounds.some((bound) => holds(bound, version));
}

function provedOn(cell, version) {
  return [...cell.textContent.matchAll(/([\w., ]+) × ([\d., ]+)/g)].some((pair) =>
    pair[MEGATRON.test(version) ? 1 : 2].split(/[, ]+/).includes(version),
  );
}

function select(label, choices, any) {
  const control = document.createElement("select");
  control.setAttribute("aria-label", label);
  control.append(new Option(`${label}: ${any}`, ""), ...choices.map((one) => new Option(one, one)));
  return control;
}

function build(place) {
  const words = TEXTS[document.documentElement.lang] ?? TEXTS.en;
  const isMatrix = place.dataset.table === "matrix";
  const columns = isMatrix ? 6 : 5;
  const tables = [...document.querySelectorAll("article table")].filter((table) => table.rows[0].cells.length === columns);
  const rows = tables.flatMap((table) => [...table.tBodies[0].rows]);
  const column = (number) => [...new Set(rows.map((row) => row.cells[number].textContent))];
  const text = Object.assign(document.createElement("input"), { type: "search", placeholder: words.text });
  text.setAttribute("aria-label", words.text);
  const version = select(words.version, place.dataset.versions.split(" "), words.any);
  const topic = isMatrix ? undefined : select(words.topic, column(2), words.any);
  const severity = isMatrix ? undefined : select(words.severity, column(3), words.any);
  const proved = Object.assign(document.createElement("input"), { type: "checkbox", id: "proved" });
  const label = Object.assign(document.createElement("label"), { htmlFor: "proved", textContent: words.proved });
  const count = Object.assign(document.createElement("output"), {});
  place.append(text, ...(isMatrix ? [version, proved, label] : [topic, severity, version]), count);

  function fits(row) {
    const [, second, third, fourth, last] = row.cells;
    const side = MEGATRON.test(version.value) ? second : third;
    const ofVersion = isMatrix
      ? accepts(side, version.value) && (!proved.checked || [fourth, last].some((cell) => provedOn(cell, version.value)))
      : !last.textContent || last.textContent.split(/[, ]+/).includes(version.value);
    return (
      row.textContent.toLowerCase().includes(text.value.trim().toLowerCase()) &&
      (!version.value || ofVersion) &&
      (!topic?.value || third.textContent === topic.value) &&
      (!severity?.value || fourth.textContent === severity.value)
    );
  }
  function show() {
    proved.disabled = !version.value;
    for (const row of rows) row.hidden = !fits(row);
    count.value = `${rows.filter((row) => !row.hidden).length} / ${rows.length} ${words.shown}`;
  }
  place.addEventListener("input", show);
  show();
}

document.querySelectorAll(".filters").forEach(build);
