// Both files side by side, with accmap's findings at their lines as you type.

import { json } from "@codemirror/lang-json";
import { yaml } from "@codemirror/lang-yaml";
import { StreamLanguage } from "@codemirror/language";
import { shell } from "@codemirror/legacy-modes/mode/shell";
import { type Diagnostic, forceLinting, lintGutter, setDiagnostics } from "@codemirror/lint";
import { Compartment, type Text } from "@codemirror/state";
import { basicSetup, EditorView } from "codemirror";

import { type Language, text, TEXTS } from "./texts";
import type { Answer } from "./worker";

interface Span {
  readonly line: number;
  readonly column: number;
  readonly end_line: number;
  readonly end_column: number;
}
interface Fix {
  readonly applicability: "safe" | "unsafe";
  readonly description: string;
  readonly edits: readonly { readonly file: string; readonly span: Span; readonly text: string }[];
}
interface Finding {
  readonly code: string;
  readonly severity: "error" | "warning" | "info";
  readonly effect: "stops" | "numbers" | "depends" | "advice";
  readonly message: string;
  readonly file: string;
  readonly span: Span | null;
  readonly because_of: number | null;
  readonly fix: Fix | null;
  readonly alternatives: readonly Fix[];
}
interface LossRow {
  readonly field: string | null;
  readonly from: readonly string[];
  readonly status: string;
  readonly impact: string;
  readonly message: string;
}
type Side = "a" | "b";

const WAIT = 250;
const ORDER = ["stops", "numbers", "depends", "advice"];
const KEPT = new Set(["exact", "made-explicit", "conditional"]);

// --- accmap in its worker ---

const worker = new Worker("worker.js", { type: "module" });
const waiting = new Map<number, (answer: Answer) => void>();
let last = 0;

function run(words: string[], reads: string[] = []): Promise<Answer> {
  const id = ++last;
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    worker.postMessage({ id, words: [...words, "--lang", language], files: files(), reads });
  });
}

worker.addEventListener("message", (event: MessageEvent<Answer & { ready?: boolean; failed?: string }>) => {
  if (event.data.failed !== undefined) {
    say(text("failed", language) + event.data.failed);
  } else if (event.data.ready) {
    void check();
  } else {
    waiting.get(event.data.id)?.(event.data);
    waiting.delete(event.data.id);
  }
});

// --- the page ---

function element<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

let language: Language = navigator.language.startsWith("zh") ? "zh" : "en";
const kinds = { a: new Compartment(), b: new Compartment() };
const editors = { a: editor("a"), b: editor("b") };
let timer: ReturnType<typeof setTimeout> | undefined;
let round = 0;

function editor(side: Side): EditorView {
  const view = new EditorView({
    parent: element(`editor-${side}`),
    extensions: [
      basicSetup,
      lintGutter(),
      kinds[side].of([]),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": side === "a" ? "file A" : "file B" }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) {
          clearTimeout(timer);
          timer = setTimeout(() => void check(), WAIT);
        }
      }),
    ],
  });
  view.scrollDOM.tabIndex = 0; // the keyboard scrolls it, too
  return view;
}

function nameOf(side: Side): string {
  const given = element<HTMLInputElement>(`name-${side}`).value.trim().replaceAll(/[^\w.-]/g, "_").replace(/^[-.]+/, "");
  const name = given || (side === "a" ? "megatron.sh" : "mindformers.yaml");
  return side === "b" && name === nameOf("a") ? `b-${name}` : name;
}

function contentOf(side: Side): string {
  return editors[side].state.doc.toString();
}

function files(): Record<string, string> {
  const sides: Side[] = ["a", "b"];
  return Object.fromEntries(sides.filter((one) => contentOf(one).trim() !== "").map((one) => [nameOf(one), contentOf(one)]));
}

function put(side: Side, content: string, name?: string): void {
  if (name !== undefined) {
    element<HTMLInputElement>(`name-${side}`).value = name;
  }
  const view = editors[side];
  const kind = /\.ya?ml$/i.test(nameOf(side)) ? yaml() : /\.json$/i.test(nameOf(side)) ? json() : StreamLanguage.define(shell);
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: content }, effects: kinds[side].reconfigure(kind) });
}

function say(message: string): void {
  element("status").textContent = message;
}

/** Where a place of accmap, whose columns count characters, is in the editor, which counts UTF-16 units. */
function offset(document: Text, line: number, column: number): number {
  if (line > document.lines) {
    return document.length;
  }
  const row = document.line(Math.max(1, line));
  return Math.min(row.to, row.from + [...row.text].slice(0, column - 1).join("").length);
}

async function check(): Promise<void> {
  const mine = ++round;
  const names = Object.keys(files());
  if (names.length === 0) {
    show([], "");
    return;
  }
  say(text("checking", language));
  const profile = element<HTMLSelectElement>("profile").value;
  const answer = await run(["lint", ...names, "--format", "json", "--no-cache", "--profile", profile]);
  if (mine !== round) {
    return; // a newer check is under way
  }
  const found = answer.out === "" ? [] : (JSON.parse(answer.out) as { diagnostics: Finding[] }).diagnostics;
  show(found, answer.err);
}

function show(found: readonly Finding[], problem: string): void {
  const loud = found
    .filter((one) => one.because_of === null && one.severity !== "info")
    .sort((one, other) => ORDER.indexOf(one.effect) - ORDER.indexOf(other.effect));
  const advice = found.filter((one) => one.because_of === null && one.severity === "info");
  const count = (severity: string): number => loud.filter((one) => one.severity === severity).length;
  const totals = language === "zh"
    ? `${count("error")} 个错误，${count("warning")} 个警告，${advice.length} 条建议`
    : `${count("error")} errors, ${count("warning")} warnings, ${advice.length} pieces of advice`;
  say(problem || totals);
  const list = element("findings");
  list.replaceChildren(...(loud.length ? loud.map(card) : [paragraph(text("none", language))]));
  if (advice.length) {
    const folded = document.createElement("details");
    const head = document.createElement("summary");
    head.textContent = `${text("advice", language)} (${advice.length})`;
    folded.append(head, ...advice.map(card));
    list.append(folded);
  }
  for (const side of ["a", "b"] as const) {
    const view = editors[side];
    view.dispatch(setDiagnostics(view.state, found.filter((one) => one.file === nameOf(side)).map((one) => mark(one, view.state.doc))));
    forceLinting(view);
  }
}

function mark(one: Finding, document: Text): Diagnostic {
  const from = one.span === null ? 0 : offset(document, one.span.line, one.span.column);
  const to = one.span === null ? 0 : offset(document, one.span.end_line, one.span.end_column);
  return { from, to: Math.max(from, to), severity: one.severity, message: `${one.code} ${one.message}` };
}

function card(one: Finding): HTMLElement {
  const box = document.createElement("article");
  box.className = one.severity;
  const head = document.createElement("h3");
  head.textContent = one.code;
  box.append(head, paragraph(one.message));
  const row = document.createElement("p");
  const side: Side | undefined = one.file === nameOf("a") ? "a" : one.file === nameOf("b") ? "b" : undefined;
  if (side !== undefined && one.span !== null) {
    const { line } = one.span;
    row.append(button(`${one.file}:${line}`, () => reveal(side, line)));
  }
  for (const fix of [one.fix, ...one.alternatives]) {
    if (fix !== null) {
      row.append(button(`${text("apply", language)}: ${fix.description}`, () => apply(fix), "apply"));
    }
  }
  row.append(button(text("explain", language), async () => {
    const answer = await run(["explain", one.code]);
    const said = document.createElement("pre");
    said.textContent = answer.out;
    box.querySelector("pre")?.remove();
    box.append(said);
  }));
  box.append(row);
  return box;
}

function paragraph(said: string): HTMLElement {
  const made = document.createElement("p");
  made.textContent = said;
  return made;
}

function button(said: string, act: () => void | Promise<void>, name = ""): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = said;
  made.className = name;
  made.addEventListener("click", () => void act());
  return made;
}

function reveal(side: Side, line: number): void {
  const view = editors[side];
  const place = offset(view.state.doc, line, 1);
  view.dispatch({ selection: { anchor: place }, effects: EditorView.scrollIntoView(place, { y: "center" }) });
  view.focus();
}

function apply(fix: Fix): void {
  for (const side of ["a", "b"] as const) {
    const view = editors[side];
    const changes = fix.edits
      .filter((one) => one.file === nameOf(side))
      .map(({ span, text: insert }) => ({
        from: offset(view.state.doc, span.line, span.column),
        to: offset(view.state.doc, span.end_line, span.end_column),
        insert,
      }));
    if (changes.length) {
      view.dispatch({ changes });
    }
  }
}

async function convert(from: Side): Promise<void> {
  const to: Side = from === "a" ? "b" : "a";
  const source = nameOf(from);
  const target = /\.(ya?ml)$/i.test(source) ? "converted.sh" : "converted.yaml";
  const answer = await run(["convert", source, "-o", target, "--force", "--report", "report.json"], [target, "report.json"]);
  const made = answer.files[target];
  const report = answer.files["report.json"];
  const rows = report === undefined ? [] : (JSON.parse(report) as { rows: LossRow[] }).rows;
  const lost = rows.filter((row) => !KEPT.has(row.status) && row.impact === "numerics");
  const place = element("losses");
  const items = lost.map((row) => paragraph(`${row.status} · ${row.field ?? row.from.join(", ")}: ${row.message}`));
  const head = document.createElement("h2");
  head.textContent = text("losses", language);
  place.replaceChildren(head, ...(made === undefined ? [paragraph(answer.err)] : items.length ? items : [paragraph(text("nothingLost", language))]));
  if (made !== undefined) {
    put(to, made, target);
  }
}

async function curves(): Promise<void> {
  const answer = await run(["lr", ...Object.keys(files()), "--format", "svg"]);
  const place = element("curves");
  if (!answer.out.startsWith("<svg") && !answer.out.startsWith("<?xml")) {
    place.replaceChildren(paragraph(answer.err));
    return;
  }
  const picture = document.createElement("img");
  picture.alt = text("curves", language);
  picture.src = URL.createObjectURL(new Blob([answer.out], { type: "image/svg+xml" }));
  place.replaceChildren(picture);
}

// --- a link that carries both files in its fragment ---

async function through(stream: CompressionStream | DecompressionStream, bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

async function share(): Promise<void> {
  const content = JSON.stringify({ a: [nameOf("a"), contentOf("a")], b: [nameOf("b"), contentOf("b")] });
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(content));
  const letters = btoa(Array.from(packed, (one) => String.fromCharCode(one)).join(""));
  location.hash = letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  await navigator.clipboard?.writeText(location.href).catch(() => undefined);
  say(text("shared", language));
}

async function restore(): Promise<boolean> {
  try {
    const letters = location.hash.slice(1).replaceAll("-", "+").replaceAll("_", "/");
    if (letters === "") {
      return false;
    }
    const bytes = Uint8Array.from(atob(letters), (one) => one.charCodeAt(0));
    const content = new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes));
    const kept = JSON.parse(content) as Record<Side, [string, string]>;
    put("a", String(kept.a[1]), String(kept.a[0]));
    put("b", String(kept.b[1]), String(kept.b[0]));
    return true;
  } catch {
    return false; // a fragment that is none of ours
  }
}

async function example(name: string): Promise<void> {
  for (const [side, file] of [["a", "megatron.sh"], ["b", "mindformers.yaml"]] as const) {
    const response = await fetch(`examples/${name}/${file}`);
    put(side, await response.text(), file);
  }
}

function translate(): void {
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  for (const one of document.querySelectorAll<HTMLElement>("[data-text]")) {
    one.textContent = text(one.dataset["text"] as keyof typeof TEXTS, language);
  }
  for (const one of document.querySelectorAll<HTMLElement>("[data-label]")) {
    const said = text(one.dataset["label"] as keyof typeof TEXTS, language);
    one.setAttribute("aria-label", said);
    one.title = said;
  }
  document.title = text("title", language);
}

async function main(): Promise<void> {
  translate();
  say(text("loading", language));
  const chosen = element<HTMLSelectElement>("example");
  chosen.addEventListener("change", () => void example(chosen.value));
  element("profile").addEventListener("change", () => void check());
  element("to-b").addEventListener("click", () => void convert("a"));
  element("to-a").addEventListener("click", () => void convert("b"));
  element("show-curves").addEventListener("click", () => void curves());
  element("share").addEventListener("click", () => void share());
  element("language").addEventListener("click", () => {
    language = language === "zh" ? "en" : "zh";
    translate();
    void check();
  });
  for (const side of ["a", "b"] as const) {
    element(`name-${side}`).addEventListener("change", () => put(side, contentOf(side)));
  }
  window.addEventListener("hashchange", () => void restore());
  if (!(await restore())) {
    await example(chosen.value);
  }
}

void main();
