// What the page says, in both languages.

export type Language = "en" | "zh";

export const TEXTS = {
  title: ["accmap playground", "accmap 在线试用"],
  about: [
    "Paste a Megatron-LM launch script and a MindSpore Transformers YAML. Everything runs in this page; nothing is sent anywhere.",
    "粘贴一个 Megatron-LM 启动脚本与一个 MindSpore Transformers YAML。全部在本页内运行，不会发送任何内容。",
  ],
  loading: ["Loading Python (about 13 MB, once) …", "正在加载 Python（约 13 MB，仅一次）…"],
  checking: ["Checking …", "正在检查…"],
  failed: ["Python did not start: ", "Python 未能启动："],
  example: ["Example", "示例"],
  profile: ["Profile", "用途"],
  name: ["File name", "文件名"],
  toA: ["Convert the right file into the left one", "将右侧文件转换到左侧"],
  toB: ["Convert the left file into the right one", "将左侧文件转换到右侧"],
  convert: ["Convert", "转换"],
  curves: ["Learning-rate curves", "学习率曲线"],
  share: ["Copy a link with both files", "复制包含两个文件的链接"],
  shared: ["The link is in the clipboard and in the address bar.", "链接已在剪贴板和地址栏中。"],
  findings: ["Findings", "问题"],
  none: ["No findings.", "没有问题。"],
  advice: ["Advice", "建议"],
  apply: ["Apply", "应用"],
  explain: ["Explain", "说明"],
  losses: ["Loss report", "损失报告"],
  nothingLost: ["Nothing that changes numbers was lost.", "没有丢失影响数值的内容。"],
  language: ["中文", "English"],
} as const satisfies Record<string, readonly [string, string]>;

export function text(name: keyof typeof TEXTS, language: Language): string {
  return TEXTS[name][language === "zh" ? 1 : 0];
}
