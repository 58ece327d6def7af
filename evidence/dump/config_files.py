"""The files of one dump: MindSpore's own JSON, msprobe's configurations, and the lines to insert on both sides.

Sources: MindSpore 2.9 `tools/data_dump/dump_json_parser.cc` (the JSON), msprobe 26.2.0 `core/dump/common_config.py`
and 8.3.3 `core/common_config.py` (its configuration), 8.3.3 `core/compare/utils.py` (compare.json).
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from ...mappings.keys_compiled import SHORT_CHECKSUM
from ...schemas.border.file_input import package_text
from ...schemas.compilers.tables import load_table
from ...schemas.fast_records import NamedTuple
from ...schemas.versions import within

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .config_request import Record, Request, Side, Span

STATISTICS = ("max", "min", "avg", "l2norm")


def mindspore_dump(request: Request, folder: str, name: str, mindformers: str) -> dict[str, Any]:
    """The JSON that MINDSPORE_DUMP_CONFIG names, for the MindSpore of a version of MindSpore Transformers."""
    ranks = sorted({number for span in request.ranks for number in range(span.first, span.last + 1)})
    common: dict[str, Any] = {
        "op_debug_mode": 0,
        "dump_mode": 1 if request.scope else 0,
        "path": folder,
        "net_name": name,
        "iteration": "|".join(span.text() for span in request.steps) or "all",
        "saved_data": "tensor" if request.task == "tensor" else "statistic",
        "input_output": 0,
        "kernels": [_kernels(record) for record in request.scope],
        "support_device": ranks or list(range(8)),
    }
    if request.task == "statistics":
        # MindSpore 2.7.0, which belongs to MindSpore Transformers 1.6, has the shorter name.
        checksum = "md5" if within(mindformers, *SHORT_CHECKSUM) else "hash:md5"
        common["statistic_category"] = [checksum] if request.summary == "md5" else list(STATISTICS)
    if request.kind == "mindspore-o2":
        common["file_format"] = "npy"
        return {"common_dump_settings": common}
    return {"common_dump_settings": common, "e2e_dump_settings": {"enable": True, "trans_flag": True}}


def _kernels(record: Record) -> str:
    """All operators below a module: their names are the path of attributes, each with its class."""
    pieces = "/".join(f"{piece}-[^/]+" for piece in record.place.split("."))
    return f"name-regex(.*/{pieces}/.*)"


def msprobe_config(request: Request, folder: str, scope: Sequence[str], *, ranks: bool) -> dict[str, Any]:
    """The config.json of msprobe for one side; `ranks` is false where that side has no ranks to choose from."""
    block: dict[str, Any] = {"scope": list(scope), "list": [], "data_mode": ["all"]}
    if request.task == "statistics":
        block["summary_mode"] = request.summary
    return {
        "task": request.task,
        "dump_path": folder,
        "rank": _spans(request.ranks) if ranks else [],
        "step": _spans(request.steps),
        "level": request.level,
        request.task: block,
    }


def _spans(spans: Sequence[Span]) -> list[int | str]:
    return [span.first if span.first == span.last else span.text() for span in spans]


def compare_input(target: str, golden: str) -> dict[str, Any]:
    """compare.json of msprobe before 26: both dumps, and that the call stacks of the MindSpore side are shown."""
    return {
        "npu_path": f"{target}/dump.json",
        "bench_path": f"{golden}/dump.json",
        "stack_path": f"{target}/stack.json",
        "is_print_compare_log": True,
    }


def yaml_text(content: Mapping[str, Any] | Sequence[Any], comment: str) -> str:
    """A mapping file with a first line that says what it is."""
    import yaml

    return f"# {comment}\n" + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=200)


class Insertion(NamedTuple):
    """Lines of code, and the place in the framework's own file where they belong."""

    side: Side
    file: str
    within: str
    where: str
    """`before` or `after`."""
    anchor: str
    code: str
    en: str
    zh: str


def insertions(dialect: str, parts: int, configs: dict[Side, str]) -> tuple[Insertion, ...]:
    """Every insertion of a pair; `parts` is how many models a rank of Megatron-LM holds."""
    model = "unwrap_model(model)" if parts > 1 else "unwrap_model(model)[0]"
    return (
        *_of("megatron", "megatron", configs["megatron"], model),
        *_of(dialect, "mindformers", configs["mindformers"]),
    )


def _of(block: str, side: Side, config: str, model: str = "") -> Iterator[Insertion]:
    for row in _table()[block]:
        key = "before" if "before" in row else "after"
        code = row["code"].replace("{config}", config).replace("{model}", model)
        yield Insertion(side, row["file"], row["within"], key, row[key], code, row["en"], row["zh"])


@cache
def _table() -> Any:
    return load_table(package_text(os.path.dirname(__file__), "insertions.yaml"))
