"""What `convert` drops with numeric impact, `lint` finds: of the file alone and of a pair, for every argument there is.

Some arguments are given at once, because what is asked is whether two answers name the same keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from accmap.cli.configuration import Configuration
from accmap.cli.linting.file_groups import read_side
from accmap.cli.linting.linter import check_group
from accmap.cli.linting.settings import Reader, Settings
from accmap.mapper.translate.mindformers_file import mindformers_text
from accmap.mapper.translate.translation import translate
from accmap.schemas.config import ReadOptions
from accmap.schemas.megatron.catalog import VERSIONS, catalog
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accmap.schemas.megatron.catalog import ArgumentFact

BASE = (
    "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64 "
    "--position-embedding-type rope --micro-batch-size 1 --global-batch-size 1 --train-iters 10 --lr 1e-4 --bf16 "
    "--tokenizer-type NullTokenizer --vocab-size 511 --data-path /data/a"
)
AT_ONCE = 8
"""More would switch one another off."""
OWN = frozenset((*BASE.split(), "--yaml-cfg", "--moe-layer-freq"))  # no word is a pattern of layers


def settings(version: str) -> Settings:
    return Settings(Configuration(), ReadOptions(megatron=version, world_size=1), "train", (), ())


def written(fact: ArgumentFact) -> str | None:
    """The argument with a value that is not its default; None where there is none to be had."""
    flag = fact.options[0]
    if fact.action != "store":
        return None if fact.options[0] in ("-h", "--help") else flag
    if fact.choices is not None:
        other = [choice for choice in fact.choices if choice is not None and choice != fact.default]
        return f"{flag} {other[0]}" if other else None
    value = {"int": "3" if fact.default != 3 else "5", "float": "0.375"}.get(fact.type or "", "text")
    count = fact.nargs if isinstance(fact.nargs, int) else 1
    return f"{flag} {' '.join([value] * count)}"


def batches(version: str) -> Iterator[str]:
    words = [text for fact in catalog(version).arguments if (text := written(fact)) and text.split()[0] not in OWN]
    for at in range(0, len(words), AT_ONCE):
        yield " ".join(words[at : at + AT_ONCE])


def dropped(text: str, version: str) -> tuple[dict[str, str], str | None]:
    """The keys that `convert` drops with numeric impact, and the YAML it writes."""
    side = read_side("run.sh", settings(version), Reader(None, {"run.sh": SourceText("run.sh", text)}))
    translation = translate(side.config)
    found: dict[str, str] = {}
    for row in translation.rows:
        given = side.config.settings.get(row.source[0]) if row.source else None
        if row.status != "dropped" or row.impact != "numerics" or not row.explicit or given is None:
            continue
        if given.raw is None or given.value in (None, False):
            continue
        found[row.source[0]] = row.field or ""
    return found, mindformers_text(translation, comments=False)


def named(texts: dict[str, str], version: str) -> tuple[set[str], set[str]]:
    """The recipe fields and the words of every finding that is no remark."""
    options = settings(version)
    sides = [read_side(name, options, Reader(None, {name: SourceText(name, text)})) for name, text in texts.items()]
    loud = [entry for entry in check_group(sides, options)[0] if entry.kind.severity != "info"]
    fields = {field for entry in loud for field in entry.fields}
    return fields, {word.strip("():,.;") for entry in loud for word in entry.message().split()}


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_what_convert_drops_is_found(version: str) -> None:
    missing: list[str] = []
    for number, batch in enumerate(batches(version)):
        text = f"torchrun --nproc_per_node 1 pretrain_gpt.py {BASE} {batch}\n"
        lost, yaml = dropped(text, version)
        groups = [{"run.sh": text}]
        if number % 3 == VERSIONS.index(version) % 3 and yaml is not None:
            groups.append({"run.sh": text, "run.yaml": yaml})
        for texts in groups if lost else ():
            fields, words = named(texts, version)
            flags = {key: catalog(version).by_dest[key].options for key in lost}
            missing += [
                f"{key} ({len(texts)} files)"
                for key, field in lost.items()
                if field not in fields and not words & set(flags[key])
            ]
    assert missing == []
