// Runs accmap in a Python that lives in this worker. Files come with each call and are gone after it.

import type { PyodideAPI } from "pyodide";

export interface Call {
  readonly id: number;
  readonly words: readonly string[];
  readonly files: Readonly<Record<string, string>>;
  /** Files that the command writes. */
  readonly reads: readonly string[];
}

export interface Answer {
  readonly id: number;
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly files: Readonly<Record<string, string>>;
}

const PROGRAM = `
import contextlib, io, json, os, shutil

def run(call):
    from accmap.cli.lean import main
    asked = json.loads(call)
    os.chdir("/")
    shutil.rmtree("/work", ignore_errors=True)
    os.mkdir("/work")
    os.chdir("/work")
    for name, text in asked["files"].items():
        with open(name, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(asked["words"])
    written = {}
    for name in asked["reads"]:
        if os.path.exists(name):
            with open(name, encoding="utf-8", newline="") as file:
                written[name] = file.read()
    return json.dumps({"code": code, "out": out.getvalue(), "err": err.getvalue(), "files": written})
`;

async function start(): Promise<(call: string) => string> {
  const place = "./pyodide/pyodide.mjs";
  const { loadPyodide } = (await import(place)) as typeof import("pyodide");
  const python: PyodideAPI = await loadPyodide({ indexURL: new URL("./pyodide/", self.location.href).href });
  const packages = python.runPython("import site; site.getsitepackages()[0]") as string;
  for (const name of ["accmap.zip", "yaml.zip"]) {
    const response = await fetch(name);
    if (!response.ok) {
      throw new Error(`${name}: ${response.status}`);
    }
    python.unpackArchive(await response.arrayBuffer(), "zip", { extractDir: packages });
  }
  python.runPython("import os; os.environ['ACCMAP_NO_CACHE'] = '1'");
  python.runPython(PROGRAM);
  return python.globals.get("run") as (call: string) => string;
}

const ready = start();
ready.then(
  () => self.postMessage({ ready: true }),
  (error: unknown) => self.postMessage({ failed: String(error) }),
);

self.addEventListener("message", async (event: MessageEvent<Call>) => {
  const run = await ready;
  const { id, ...call } = event.data;
  try {
    self.postMessage({ id, ...(JSON.parse(run(JSON.stringify(call))) as object) });
  } catch (error) {
    self.postMessage({ id, code: 3, out: "", err: String(error), files: {} });
  }
});
