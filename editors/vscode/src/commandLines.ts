// The command lines of accmap that this extension runs; apart from the editor, so that a test can run them.

export interface Settings {
  readonly command: string;
  readonly profile: string;
  readonly language: string;
  readonly remarks: boolean;
  readonly inlayValues: boolean;
  readonly arguments: readonly string[];
}

/** The language of accmap's texts: that of the settings, or the editor's. */
export function languageOf(settings: Settings, editorLanguage: string): "en" | "zh" {
  if (settings.language === "zh" || settings.language === "en") {
    return settings.language;
  }
  return editorLanguage.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export function serverArguments(settings: Settings, editorLanguage: string): string[] {
  return [
    "lsp",
    "--profile",
    settings.profile,
    "--lang",
    languageOf(settings, editorLanguage),
    ...(settings.remarks ? ["--remarks"] : []),
    ...(settings.inlayValues ? ["--inlay-values"] : []),
    ...settings.arguments,
  ];
}

/** The file that a conversion writes: beside its source, with the ending of the other framework. */
export function convertedName(path: string): string {
  const isYaml = /\.ya?ml$/i.test(path);
  const bare = path.replace(/\.[^./\\]+$/, "");
  return isYaml ? `${bare}.sh` : `${bare}.yaml`;
}

export function upgradedName(path: string): string {
  return path.replace(/(\.ya?ml)?$/i, "_dynamic.yaml");
}

export function convertArguments(source: string, target: string, language: string, force: boolean): string[] {
  return ["convert", source, "-o", target, "--lang", language, ...(force ? ["--force"] : [])];
}

export function upgradeArguments(source: string, target: string, language: string, force: boolean): string[] {
  return ["upgrade", source, "-o", target, "--lang", language, ...(force ? ["--force"] : [])];
}

export function reportArguments(a: string, b: string, target: string, language: string): string[] {
  return ["report", a, b, "-o", target, "--force", "--lang", language];
}

export function verifyArguments(a: string, b: string, language: string): string[] {
  return ["verify", a, b, "--lang", language];
}
