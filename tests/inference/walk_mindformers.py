"""The same inference with MindSpore Transformers: `walk_mindformers.py FOLDER`, jobs in FOLDER/jobs.json.

Each job `[name, configuration, checkpoint]` loads a checkpoint with the real loading function and generates greedily,
the whole text again for each token, because its kernels for a cache of keys and values do not run on a CPU. Written are
answers, first logits and the log of the loading.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mindspore  # noqa: F401 - before anything else loads protobuf
import numpy as np
from walk_transformers import NEW_TOKENS

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "evidence" / "weights" / "real"))
from mindformers_run import load
from tokenizers import Tokenizer

from accmap.schemas.reader import read_config
from accmap.verifier.mindformers import from_yaml
from accmap.verifier.mindformers.model import MindFormersBackend
from accmap.verifier.plan.dimensions import SEQUENCE, small_file
from accmap.verifier.worker.inputs import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

_END = 2


def main(folder: Path) -> None:
    prompts = json.loads((folder / "prompts.json").read_text("utf-8"))
    tokenizer = Tokenizer.from_file(str(folder / "hf" / "tokenizer.json"))
    length = max(map(len, prompts["ids"])) + NEW_TOKENS
    noted: dict[str, list[str]] = {}
    for name, config, checkpoint in json.loads((folder / "jobs.json").read_text("utf-8")):
        blueprint = from_yaml.blueprint_of(small_file(read_config(config), {SEQUENCE: length}).config)
        built = MindFormersBackend().build(blueprint, seed=5)
        with log_of_loading(folder / f"{name}.log"):
            noted[name] = load(built.model, Path(checkpoint))
        texts, first = generate(built, prompts["ids"], length)
        rows = [
            {"question": question, "answer": tokenizer.decode(ids, skip_special_tokens=False)}
            for question, ids in zip(prompts["questions"], texts, strict=True)
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        np.save(folder / f"{name}.npy", first)
    print(json.dumps(noted))


@contextlib.contextmanager
def log_of_loading(path: Path) -> Iterator[None]:
    """Keeps what the real loading function logs."""
    from mindformers.checkpoint import checkpoint as module

    handler = logging.FileHandler(path, "w", "utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s - mindformers - %(levelname)s - %(message)s"))
    before, disabled = module.logger, logging.root.manager.disable
    logging.disable(logging.NOTSET)
    module.logger = logging.Logger("mindformers", logging.INFO)
    module.logger.addHandler(handler)
    try:
        yield
    finally:
        module.logger = before
        logging.disable(disabled)
        handler.close()


def generate(built: Any, prompts: list[list[int]], length: int) -> tuple[list[list[int]], Any]:
    """The new tokens of each prompt, and the logits at the end of each prompt."""
    ids = np.zeros((len(prompts), length), np.int32)
    ends = [len(one) for one in prompts]
    for row, one in zip(ids, prompts, strict=True):
        row[: len(one)] = one
    first: Any = None
    texts: list[list[int]] = [[] for _ in prompts]
    for step in range(NEW_TOKENS):
        built.forward_pass(Tokens(ids, ids, np.ones(ids.shape, np.float32)))
        logits = np.asarray(built.logits()).swapaxes(0, 1)
        at = np.stack([logits[row, end + step - 1] for row, end in enumerate(ends)])
        first = at if first is None else first
        for row, token in enumerate(at.argmax(-1)):
            if _END not in texts[row]:
                texts[row].append(int(token))
                ids[row, ends[row] + step] = token
    return texts, first


if __name__ == "__main__":
    main(Path(sys.argv[1]))
