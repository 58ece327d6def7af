"""A report as the contract's JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..answers_compiled import data_check_json, data_set_json

if TYPE_CHECKING:
    from ...schemas.diagnostic import Language
    from .check import Report


def to_json(report: Report, language: Language) -> dict[str, Any]:
    """The answer of `accmap data check --format json`."""
    digests = {} if report.contents is None else report.contents.digests
    datasets = [data_set_json(one, language, checksum=digests.get(one.data.prefix)) for one in report.datasets]
    return data_check_json(report, language, datasets=datasets)
