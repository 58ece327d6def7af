"""What the pages show below no command of their own is what a command answers: made here again, in both languages."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

np = pytest.importorskip("numpy")

ROOT = Path(__file__).resolve().parents[2]
for part in ("data", "logs"):
    sys.path.insert(0, str(ROOT / "tests" / "evidence" / part))
from data_writer import script as data_script  # noqa: E402
from data_writer import write_data  # noqa: E402
from data_writer import yaml as data_yaml  # noqa: E402
from writing_logs import falling, megatron_run, static_run  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

DENSE = ROOT / "examples" / "qwen3_dense"
DEEPSEEK_V3 = (
    "--num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 --multi-latent-attention "
    "--q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 "
    "--num-experts 256 --moe-ffn-hidden-size 2048 --moe-shared-expert-intermediate-size 2048 --moe-router-topk 8 "
    "--moe-layer-freq '([0]*3+[1]*58)' --moe-router-enable-expert-bias --moe-router-score-function sigmoid "
    "--vocab-size 129280 --make-vocab-size-divisible-by 1 --untie-embeddings-and-output-weights --swiglu "
    "--disable-bias-linear --normalization RMSNorm --qk-layernorm --mtp-num-layers 1 --position-embedding-type rope "
    "--seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 128 --bf16 "
    "--tokenizer-type NullTokenizer"
)


def arrays(folder: Path) -> None:
    one = np.linspace(-3, 3, 512, dtype=np.float32).reshape(16, 32)
    other = one.copy()
    other[3, 4] += 0.5
    np.save(folder / "npu.npy", one)
    np.save(folder / "gpu.npy", other)


def samples(folder: Path) -> None:
    write_data(folder / "corpus_text_document", [list(range(1, 3 + at % 50)) for at in range(2000)])
    (folder / "a.sh").write_text(data_script("corpus_text_document"))
    (folder / "b.yaml").write_text(data_yaml("corpus_text_document"))


def other_model(folder: Path) -> None:
    (folder / "pretrain_t5.sh").write_text("torchrun pretrain_t5.py --encoder-num-layers 2 --hidden-size 64\n")


def fork(folder: Path) -> None:
    known = "--spec mindspeed_llm.tasks.models.spec.deepseek_spec layer_spec --first-k-dense-replace 1 --use-triton-gdn"
    sizes = "--num-layers 4 --hidden-size 128 --num-attention-heads 4 --num-experts 8 --seq-length 64"
    (folder / "run.sh").write_text(
        f"torchrun pretrain_gpt.py {known} {sizes} --micro-batch-size 1 --max-position-embeddings 64\n"
    )


def planted(folder: Path) -> None:
    shutil.copytree(ROOT / "examples" / "planted", folder / "examples" / "planted")


def dense(folder: Path) -> None:
    text = (DENSE / "mindformers.yaml").read_text("utf-8")
    kept = [line for line in text.splitlines() if not line.startswith("load_checkpoint:")]  # it draws its weights
    (folder / "static.yaml").write_text("\n".join(kept) + "\n", "utf-8")


def large(folder: Path) -> None:
    (folder / "v3.sh").write_text(f"torchrun --nproc_per_node 8 pretrain_gpt.py {DEEPSEEK_V3}\n")


def logs(folder: Path) -> None:
    losses = falling(1000)
    (folder / "megatron.log").write_text(megatron_run(losses))
    (folder / "msrun_log").mkdir()
    apart = falling(1000, lambda step: 0.004 * (step * 7919 % 101 / 50 - 1) + 0.00035 * max(0, step - 850))
    (folder / "msrun_log" / "worker_0.log").write_text(static_run(apart))


def rates(folder: Path) -> None:
    script = (DENSE / "megatron.sh").read_text("utf-8").replace("--lr-warmup-iters 50", "--lr-warmup-fraction 0.0125")
    config = (DENSE / "mindformers.yaml").read_text("utf-8").replace("warmup_steps: 50", "warmup_ratio: 0.0125")
    (folder / "pretrain.sh").write_text(script)
    (folder / "pretrain.yaml").write_text(config)


def configuration(folder: Path) -> None:
    pairs = '[{steps = "ten", megatron = "a.sh", mindformers = "b.yaml"}]'
    (folder / "accmap.toml").write_text(f'profil = "align"\n\n\n\n\n\n\n\npairs = {pairs}\n')


# Of each page: the first words of the block, what has to stand there, and the command that answers it.
SHOWN: dict[str, tuple[str, Callable[[Path], None], tuple[str, ...]]] = {
    "check": (r"(different|不一致)  npu", arrays, ("check", "npy", "npu.npy", "gpu.npy")),
    "computed": (r"(671\.0 B|参数量)", large, ("show", "v3.sh")),
    "data": (r"(good|正常)\n", samples, ("data", "check", "a.sh", "b.yaml")),
    "dialects": (r"run\.sh megatron", fork, ("show", "run.sh")),
    "logs": (r"\$ accmap logs", logs, ("logs", "megatron.log", "msrun_log/")),
    "lr": (r"\$ accmap lr", rates, ("lr", "pretrain.sh", "pretrain.yaml")),
    "recognition": (r"pretrain_t5\.sh", other_model, ("convert", "pretrain_t5.sh", "-o", "new.yaml")),
    "schema": (r"accmap\.toml:1:1", configuration, ("schema", "--check", "accmap.toml")),
    "upgrade": (r"(moved|移动) run", dense, ("upgrade", "static.yaml", "-o", "dynamic.yaml")),
    "verdicts": (r"examples/planted/mind", planted, ("lint", "examples/planted")),
}
# What two dumps, or two models, of the real frameworks give, which this machine may not have.
NOT_MADE = {"dump": r"(diverged|不一致)\s+megatron_dump", "verify": r"(mismatch|不一致)\s+megatron pretrain\.sh"}
ELSEWHERE = {"convert": "test_convert_docs.py"}
"""Pages whose answers have a test of their own."""
PAGES = [*(ROOT / name for name in ("README.md", "README.zh-CN.md")), *sorted((ROOT / "docs").glob("*.md"))]
A_COMMAND = re.compile(r"(\$ )?(\.venv/bin/)?(accmap|pip|python3?|bash|docker|srun) |#|\s|$")


def block(page: str, language: str, begins: str) -> list[str]:
    """The lines of the block that begins so, without its command."""
    name = f"{page}.md" if language == "en" else f"{page}.zh-CN.md"
    text = (ROOT / "docs" / name).read_text("utf-8")
    (found,) = re.findall(rf"^```\w*\n({begins}.*?)^```", text, re.DOTALL | re.MULTILINE)
    whole = next(one for one in (found if isinstance(found, tuple) else (found,)) if "\n" in one)
    return [line for line in whole.splitlines() if not line.startswith("$ ") and line.strip(" .…")]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("page", SHOWN)
def test_what_a_page_shows_is_answered(
    accmap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str, language: str
) -> None:
    begins, prepare, words = SHOWN[page]
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    answer = accmap(*words, "--lang", language)
    # The answer is broken at the terminal's width: what is compared are its characters.
    said, at = "".join((answer.out + answer.err).split()), 0
    for line in block(page, language, begins):
        pattern = ".{0,400}?".join(re.escape("".join(part.split())) for part in line.split("…"))
        found = re.compile(pattern).search(said, at)
        assert found is not None, f"{line!r} is not said, or in another order:\n{answer.out}{answer.err}"
        at = found.end()


def answers(page: Path) -> list[str]:
    """The blocks of a page that show what a command says; those of `console` are run as they are, elsewhere."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    plain = [text for language, text in blocks if language in ("", "text")]
    return [text for text in plain if not all(A_COMMAND.match(line) for line in text.splitlines())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_answer_on_a_page_is_made_here_or_excepted(page: Path) -> None:
    """A page that is added, or a block on one, fails until something compares it with what the command says."""
    name = page.name.partition(".")[0]
    begins = [SHOWN[name][0]] if name in SHOWN else [NOT_MADE[name]] if name in NOT_MADE else []
    shown = [text for text in answers(page) if not any(re.match(one, text) for one in begins)]
    assert not shown or name in ELSEWHERE, f"{page.name}: nothing compares this with an answer:\n{shown[0]}"


def test_no_exception_is_left_over() -> None:
    for page, begins in NOT_MADE.items():
        assert block(page, "en", begins), page
    for page, test in ELSEWHERE.items():
        assert answers(ROOT / "docs" / f"{page}.md")
        assert page in Path(__file__).with_name(test).read_text("utf-8")
