"""Files of many kinds, and questions about them: what any order of questions to one process is tried with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

Question = dict[str, object]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
INSTEAD = ("0", "1", "8", "64", "-0.0", "1.0e-4", "true", "null", "adam", "[0, 1]", "float32", "${UNSET}")
SPEC = "mindspeed_llm.tasks.models.spec.qwen3_spec layer_spec"
SCRIPT = """\
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers {layers} --hidden-size 64 --ffn-hidden-size 128 \\
  --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64 --micro-batch-size 1 --global-batch-size 8 \\
  --lr 1e-4 --train-iters 10 --bf16 --swiglu --normalization RMSNorm --disable-bias-linear --num-experts 8 \\
  --untie-embeddings-and-output-weights --position-embedding-type rope --vocab-size 1024 --moe-router-topk 2 \\
  --tokenizer-type NullTokenizer --moe-ffn-hidden-size 32 {more}
"""
DIALECT = """\
name: {name}
base: "{base}"
arguments:
- {{options: --first-k-dense-replace, type: int, default: 0}}
- {{options: --gain, type: float, default: {gain}}}
rows:
- {{stage: before, read: num_layers, to: "num_layers + {layers}", when: first_k_dense_replace}}
- {{stage: before, set: sequence_parallel, to: "True", when: first_k_dense_replace}}
reasons:
- {{arguments: gain, when: gain != 1.0, impact: {impact}, en: It is scaled.}}
"""
DIALECTS = {
    "ours.yaml": DIALECT.format(name="ours", base="0.12", gain="1.0", layers=4, impact="numerics"),
    "other/ours.yaml": DIALECT.format(name="ours", base="0.15", gain="2.0", layers=0, impact="none"),
    "shipped.yaml": DIALECT.format(name="mindspeed-llm-2.3", base="0.12", gain="1.0", layers=2, impact="performance"),
    "newest.yaml": DIALECT.format(name="mindspeed-llm", base="0.14", gain="1.0", layers=1, impact="numerics"),
}
"""Two with one name, and two with the name of one that comes with accmap."""
CONFIGURATIONS = {
    "accmap.toml": 'profile = "train"\n',
    "other/accmap.toml": 'megatron = "ours.yaml"\nlang = "zh"\nignore = ["NET"]\n',
    "shipped/accmap.toml": 'megatron = "../shipped.yaml"\nmindformers = "1.7"\n[severity]\nNET003 = "info"\n',
}
FORKS = (None, "ours.yaml", "other/ours.yaml", "shipped.yaml", "newest.yaml", "mindspeed-llm-2.3", "mindspeed-llm")
PARALLEL = "--tensor-model-parallel-size 2 --sequence-parallel"
FORK_ARGUMENTS = (
    "--first-k-dense-replace 2", f"--spec {SPEC} --norm-topk-prob", "--gain 3.0", "",
    PARALLEL, f"{PARALLEL} --first-k-dense-replace 2", f"{PARALLEL} --padded-vocab-size 1024",
    f"{PARALLEL} --make-vocab-size-divisible-by 512",
)  # fmt: skip
"""What one fork works out, another one takes as it is written: the value is the same, where it is from is not."""
VERSIONS = ("0.12", "0.14", "0.15.3", "0.19", "main", "mindspeed-llm-26.1", "pai-megatron-patch")
KEYS = ("tp", "lr_schedule", "--norm-topk-prob", "--moe-layer-freq", "model.model_config.qk_layernorm", "NET003")


def write_files(folder: Path, variants: int, chance: random.Random) -> list[str]:
    """Variants of the examples and scripts with a fork's arguments, in three folders with other configurations."""
    known = sorted(path for path in EXAMPLES.glob("*/m*.*") if path.suffix in (".sh", ".yaml"))
    written = {**DIALECTS, **CONFIGURATIONS}
    for number in range(variants):
        path = known[number % len(known)]
        lines = path.read_text("utf-8").split("\n")
        for _ in range(min(number // len(known), 1) * 6):
            at = chance.randrange(len(lines))
            head, colon, _old = lines[at].partition(": ") if path.suffix == ".yaml" else lines[at].rpartition(" ")
            word = chance.choice(("", *INSTEAD))
            lines[at] = f"{head}{colon}{word}" if colon and word else ""
        place = ("", "other/", "shipped/")[number % 3]
        written[f"{place}file{number:02d}{path.suffix}"] = "\n".join(
            [lines[0], *["# moved"] * (number % 3), *lines[1:]]
        )
    for number, more in enumerate(FORK_ARGUMENTS):
        for place in ("", "other/", "shipped/"):
            written[f"{place}fork{number}.sh"] = SCRIPT.format(layers=8 + number, more=more)
    for name, text in written.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return [name for name in written if name.endswith((".sh", ".yaml")) and name not in DIALECTS]


def _options(chance: random.Random, *, forks: bool) -> list[str]:
    found: list[str] = []
    fork = chance.choice(FORKS) if forks else None
    if fork is not None or chance.random() < 0.3:
        found += ["--megatron", fork or chance.choice(VERSIONS)]
    if chance.random() < 0.2:
        found += ["--mindformers", chance.choice(("1.7", "1.8", "1.9", "2.1"))]
    if chance.random() < 0.2:
        found += ["--lang", chance.choice(("en", "zh"))]
    return found


def questions_about_forks(folder: Path) -> list[Question]:
    """The recipes of scripts with a fork's arguments, with that fork and without."""
    return [
        {"folder": str(folder), "words": ["recipe", "--format", "json", f"fork{number}.sh", "--megatron", fork]}
        for number in (5, 6, 7)
        for fork in ("0.12", "ours.yaml", "mindspeed-llm-2.3")
    ]


def questions(folder: Path, names: list[str], count: int, chance: random.Random) -> list[Question]:
    """Questions about files by chance, of every command that reads one."""
    scripts = [name for name in names if name.endswith(".sh")]
    yamls = [name for name in names if name.endswith(".yaml")]
    asked: dict[str, Question] = {}
    while len(asked) < count:
        name = chance.choice(names)
        other = chance.choice(yamls if name in scripts else scripts)
        lines = [
            ["lint", "--no-cache", "--remarks", "--all", name],
            ["lint", "--no-cache", "--format", "json", "--profile", chance.choice(("align", "train")), name, other],
            ["lint", "--no-cache", "--format", chance.choice(("sarif", "markdown", "concise")), name, other],
            ["diff", "--format", "json", name, other],
            ["diff", other, name],
            ["convert", name, "--to", "mindformers" if name in scripts else "megatron"],
            ["convert", name, "--to", "mindformers" if name in yamls else "megatron"],
            ["lr", "--format", "json", name],
            ["show", "--format", "json", name],
            ["recipe", "--format", "json", name],
            ["explain", chance.choice(KEYS)],
        ]
        words = chance.choice(lines)
        if words[0] != "explain":
            words = [*words, *_options(chance, forks=name.endswith(".sh"))]
        asked[repr(words)] = {"folder": str(folder), "words": words}
    return list(asked.values())
