// Starts `accmap lsp` for shell scripts and YAMLs, and runs accmap's commands on the file that is open.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";

import * as vscode from "vscode";
import { LanguageClient, TransportKind } from "vscode-languageclient/node";

import {
  convertArguments,
  convertedName,
  languageOf,
  reportArguments,
  serverArguments,
  type Settings,
  upgradeArguments,
  upgradedName,
  verifyArguments,
} from "./commandLines";

const LANGUAGES = ["shellscript", "yaml"];

let client: LanguageClient | undefined;
let output: vscode.OutputChannel;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  output = vscode.window.createOutputChannel("accmap");
  const commands: Record<string, () => Promise<void>> = {
    "accmap.convert": () => write(convertedName, convertArguments),
    "accmap.upgrade": () => write(upgradedName, upgradeArguments),
    "accmap.fix": fixAll,
    "accmap.report": report,
    "accmap.verify": verify,
    "accmap.restart": restart,
  };
  context.subscriptions.push(
    output,
    ...Object.entries(commands).map(([name, run]) => vscode.commands.registerCommand(name, run)),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration("accmap")) {
        await restart();
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

function settings(): Settings {
  const all = vscode.workspace.getConfiguration("accmap");
  return {
    command: all.get("command", "accmap"),
    profile: all.get("profile", "align"),
    language: all.get("language", "auto"),
    remarks: all.get("remarks", false),
    inlayValues: all.get("inlayValues", false),
    arguments: all.get<string[]>("arguments", []),
  };
}

function language(): "en" | "zh" {
  return languageOf(settings(), vscode.env.language);
}

async function start(): Promise<void> {
  const chosen = settings();
  client = new LanguageClient(
    "accmap",
    "accmap",
    {
      command: chosen.command,
      args: serverArguments(chosen, vscode.env.language),
      transport: TransportKind.stdio,
    },
    { documentSelector: LANGUAGES.map((one) => ({ scheme: "file", language: one })), outputChannel: output },
  );
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    void vscode.window.showErrorMessage(
      `accmap: ${chosen.command} lsp did not start (${String(error)}). Set accmap.command, and install accmap with [lsp].`,
    );
  }
}

async function restart(): Promise<void> {
  await client?.stop();
  await start();
}

/** The path of the file that is open, saved first: the commands read what is on the disk. */
async function openFile(): Promise<string | undefined> {
  const document = vscode.window.activeTextEditor?.document;
  if (document === undefined || document.uri.scheme !== "file" || !LANGUAGES.includes(document.languageId)) {
    void vscode.window.showInformationMessage("accmap: open a launch script or a YAML first.");
    return undefined;
  }
  return (await document.save()) || !document.isDirty ? document.uri.fsPath : undefined;
}

/** The other file of the pair: the one file of the other kind in the folder, or the one that the user picks. */
async function partnerOf(file: string): Promise<string | undefined> {
  const folder = vscode.Uri.file(path.dirname(file));
  const found = await vscode.workspace.findFiles(new vscode.RelativePattern(folder, "*.{sh,bash,slurm,yaml,yml,json}"));
  const names = found.map((one) => one.fsPath).filter((one) => one !== file);
  if (names.length === 1) {
    return names[0];
  }
  const picked = await vscode.window.showQuickPick(
    [...names.map((one) => ({ label: path.basename(one), description: one })), { label: "…", description: "" }],
    { title: `accmap: ${path.basename(file)} ↔ ?` },
  );
  if (picked?.description !== "") {
    return picked?.description;
  }
  return (await vscode.window.showOpenDialog({ canSelectMany: false }))?.[0]?.fsPath;
}

interface Outcome {
  readonly code: number;
  readonly text: string;
}

/** Run accmap, without a shell, and show what it says in the output channel. */
function run(words: readonly string[], cwd: string): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(settings().command, [...words], { cwd, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : 2;
      const text = `${stdout}${stderr}` || String(error ?? "");
      output.appendLine(`$ accmap ${words.join(" ")}\n${text}`);
      resolve({ code, text });
    });
  });
}

/** Convert or upgrade the file that is open into a new file, and open that. */
async function write(
  nameOf: (source: string) => string,
  wordsOf: (source: string, target: string, language: string, force: boolean) => string[],
): Promise<void> {
  const source = await openFile();
  if (source === undefined) {
    return;
  }
  const target = await vscode.window.showSaveDialog({ defaultUri: vscode.Uri.file(nameOf(source)) });
  if (target === undefined || target.fsPath === source) {
    return;
  }
  // The save dialog has asked before it names a file that exists.
  const words = wordsOf(source, target.fsPath, language(), existsSync(target.fsPath));
  const { code, text } = await run(words, path.dirname(source));
  if (code <= 1) {
    await vscode.window.showTextDocument(target, { viewColumn: vscode.ViewColumn.Beside });
  }
  if (code > 0) {
    output.show(true);
    void vscode.window.showWarningMessage(`accmap: ${text.split("\n", 1)[0] ?? ""}`);
  }
}

async function fixAll(): Promise<void> {
  await vscode.commands.executeCommand("editor.action.codeAction", { kind: "source.fixAll.accmap", apply: "first" });
}

async function report(): Promise<void> {
  const file = await openFile();
  const partner = file === undefined ? undefined : await partnerOf(file);
  if (file === undefined || partner === undefined) {
    return;
  }
  const page = path.join(tmpdir(), `accmap-${process.pid}-${Date.now()}.html`);
  const { code, text } = await run(reportArguments(file, partner, page, language()), path.dirname(file));
  if (code <= 1) {
    await vscode.env.openExternal(vscode.Uri.file(page));
  } else {
    void vscode.window.showErrorMessage(`accmap: ${text}`);
  }
}

async function verify(): Promise<void> {
  const file = await openFile();
  const partner = file === undefined ? undefined : await partnerOf(file);
  if (file === undefined || partner === undefined) {
    return;
  }
  const title = `accmap verify ${path.basename(file)} ${path.basename(partner)}`;
  const outcome = await vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title }, () =>
    run(verifyArguments(file, partner, language()), path.dirname(file)),
  );
  output.show(true);
  void vscode.window.showInformationMessage(`accmap: ${outcome.text.split("\n", 1)[0] ?? ""}`);
}
