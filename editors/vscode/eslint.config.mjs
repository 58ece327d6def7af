import js from "@eslint/js";
import typescript from "typescript-eslint";

export default typescript.config(js.configs.recommended, ...typescript.configs.strict, {
  files: ["test/**"],
  languageOptions: { globals: { URL: "readonly", console: "readonly", performance: "readonly", process: "readonly", setTimeout: "readonly" } },
});
