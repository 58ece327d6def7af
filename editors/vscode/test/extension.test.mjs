// What the extension runs, with the protocol's own client for Node and the accmap of ACCMAP (or of PATH).

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const require = createRequire(import.meta.url);
const { createMessageConnection, StreamMessageReader, StreamMessageWriter } = require("vscode-jsonrpc/node");
const lines = require("../dist/commandLines.cjs");
const accmap = process.env.ACCMAP ?? "accmap";
const examples = fileURLToPath(new URL("../../../examples/", import.meta.url));
const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf-8"));
const settings = { command: accmap, profile: "train", language: "auto", remarks: false, inlayValues: true, arguments: [] };

let folder, server, connection;
const found = new Map();

before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "accmap-vscode-"));
  cpSync(path.join(examples, "planted"), folder, { recursive: true });
  server = spawn(accmap, lines.serverArguments(settings, "en"), { cwd: folder });
  connection = createMessageConnection(new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin));
  connection.onNotification("textDocument/publishDiagnostics", (told) => found.set(told.uri, told.diagnostics));
  connection.listen();
  await connection.sendRequest("initialize", { processId: process.pid, rootUri: pathToFileURL(folder).href, capabilities: {} });
  await connection.sendNotification("initialized", {});
});

after(() => {
  connection.dispose();
  server.kill();
  rmSync(folder, { recursive: true, force: true });
});

const uriOf = (name) => pathToFileURL(path.join(folder, name)).href;

function open(name, languageId) {
  const text = readFileSync(path.join(folder, name), "utf-8");
  return connection.sendNotification("textDocument/didOpen", {
    textDocument: { uri: uriOf(name), languageId, version: 1, text },
  });
}

async function until(holds) {
  for (let tries = 0; tries < 600; tries++) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail("the server did not answer in 30 seconds");
}

test("a pair that is open has findings and quick fixes", async () => {
  await open("megatron.sh", "shellscript");
  await open("mindformers.yaml", "yaml");
  const yaml = uriOf("mindformers.yaml");
  await until(() => (found.get(yaml) ?? []).some((one) => one.code === "OPT006"));
  const diagnostic = found.get(yaml).find((one) => one.code === "OPT006");
  const actions = await connection.sendRequest("textDocument/codeAction", {
    textDocument: { uri: yaml },
    range: diagnostic.range,
    context: { diagnostics: [diagnostic] },
  });
  assert.ok(actions.some((one) => one.kind === "quickfix" && one.edit !== undefined));
  const all = await connection.sendRequest("textDocument/codeAction", {
    textDocument: { uri: yaml },
    range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } },
    context: { diagnostics: [], only: ["source.fixAll.accmap"] },
  });
  assert.equal(all.length, 1);
});

test("a word has a hover text, and a flag is completed", async () => {
  const text = readFileSync(path.join(folder, "megatron.sh"), "utf-8").split("\n");
  const line = text.findIndex((one) => one.includes("--rotary-base"));
  const position = { line, character: text[line].indexOf("--rotary-base") + 4 };
  const hover = await connection.sendRequest("textDocument/hover", { textDocument: { uri: uriOf("megatron.sh") }, position });
  assert.match(JSON.stringify(hover), /rotary/);
  const offered = await connection.sendRequest("textDocument/completion", {
    textDocument: { uri: uriOf("megatron.sh") },
    position,
  });
  assert.ok((offered.items ?? offered).some((one) => one.label === "--rotary-base"));
});

test("a setting leads to its partner, and the partner's value stands behind it", async () => {
  const text = readFileSync(path.join(folder, "mindformers.yaml"), "utf-8").split("\n");
  const line = text.findIndex((one) => one.includes("weight_decay:"));
  const position = { line, character: text[line].indexOf("weight_decay") + 2 };
  const yaml = { uri: uriOf("mindformers.yaml") };
  const partner = await connection.sendRequest("textDocument/definition", { textDocument: yaml, position });
  assert.equal(partner.uri, uriOf("megatron.sh"));
  const script = readFileSync(path.join(folder, "megatron.sh"), "utf-8").split("\n");
  assert.match(script[partner.range.start.line], /--weight-decay/);
  const range = { start: { line, character: 0 }, end: { line, character: 0 } };
  const hints = await connection.sendRequest("textDocument/inlayHint", { textDocument: yaml, range });
  assert.deepEqual(hints.map((one) => one.label.slice(0, 1)), ["≠"]);
});

test("what follows from a finding is a line of it", () => {
  const told = found.get(uriOf("mindformers.yaml"));
  const cause = told.find((one) => one.code === "OPT013");
  assert.match(cause.message, /because lr_schedule is missing: \d+ more/);
  assert.ok(!told.some((one) => one.code === "SCH050"));
});

test("every keystroke is answered", async () => {
  const uri = uriOf("mindformers.yaml");
  const text = readFileSync(path.join(folder, "mindformers.yaml"), "utf-8");
  const times = [];
  for (let version = 2; version < 12; version++) {
    found.delete(uri);
    const start = performance.now();
    await connection.sendNotification("textDocument/didChange", {
      textDocument: { uri, version },
      contentChanges: [{ text: `${text}# ${version}\n` }],
    });
    await until(() => found.has(uri));
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  console.log(`median of 10 keystrokes: ${times[5].toFixed(0)} ms (polled every 50 ms)`);
});

test("the commands write what they say", () => {
  const script = path.join(folder, "megatron.sh");
  const run = (words) => {
    try {
      return { code: 0, text: execFileSync(accmap, words, { cwd: folder, encoding: "utf-8", stdio: "pipe" }) };
    } catch (error) {
      return { code: error.status, text: `${error.stdout}${error.stderr}` };
    }
  };
  const yaml = path.join(folder, "new.yaml");
  assert.ok(run(lines.convertArguments(script, yaml, "en", false)).code <= 1);
  assert.ok(existsSync(yaml));
  assert.equal(run(lines.convertArguments(script, yaml, "en", false)).code, 2);
  assert.ok(run(lines.convertArguments(script, yaml, "en", true)).code <= 1);
  const page = path.join(folder, "page.html");
  assert.ok(run(lines.reportArguments(script, yaml, page, "zh")).code <= 1);
  assert.match(readFileSync(page, "utf-8"), /^<!doctype html>/i);
  assert.equal(run(lines.upgradeArguments(path.join(folder, "mindformers.yaml"), path.join(folder, "d.yaml"), "en", false)).code, 2);
});

test("names, languages and arguments", () => {
  assert.equal(lines.convertedName("/a/run.sh"), "/a/run.yaml");
  assert.equal(lines.convertedName("/a.b/run.YML"), "/a.b/run.sh");
  assert.equal(lines.convertedName("/a.b/run"), "/a.b/run.yaml");
  assert.equal(lines.upgradedName("/a/run.yml"), "/a/run_dynamic.yaml");
  assert.equal(lines.languageOf(settings, "zh-cn"), "zh");
  assert.equal(lines.languageOf({ ...settings, language: "en" }, "zh-cn"), "en");
  assert.deepEqual(
    lines.serverArguments({ ...settings, remarks: true, inlayValues: false, arguments: ["--megatron", "0.16"] }, "en"),
    ["lsp", "--profile", "train", "--lang", "en", "--remarks", "--megatron", "0.16"],
  );
});

test("every text of the manifest stands in both languages", () => {
  const used = [...JSON.stringify(manifest).matchAll(/"%([\w.]+)%"/g)].map((one) => one[1]).sort();
  for (const name of ["package.nls.json", "package.nls.zh-cn.json"]) {
    const texts = JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), "utf-8"));
    assert.deepEqual(Object.keys(texts).sort(), used, name);
  }
});
