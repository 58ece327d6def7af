"""A report as the contract's JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ...schemas.verdict import unseen_json
from ..answers_compiled import data_agreement_json, data_decoded_json, data_members_json
from .mindrecord import RecordFile

if TYPE_CHECKING:
    from ...schemas.diagnostic import Language
    from .check import Report
    from .dataset import DataSet
    from .pairing import Side
    from .tokens import Scan

_MOST_ENDS = 5


def to_json(report: Report, language: Language) -> dict[str, Any]:
    """The answer of `accmap data check --format json`."""
    return {
        "verdict": report.verdict,
        "not_compared": unseen_json(report.unseen, language),
        "datasets": [_dataset(dataset, report) for dataset in report.datasets],
        "sides": [_side(side) for side in report.sides],
        "members": None if report.members is None else data_members_json(report.members),
        "agreement": None if report.agreement is None else data_agreement_json(report.agreement),
        "decoded": [data_decoded_json(entry) for entry in report.decoded],
        "problems": [entry.to_json(language) for entry in report.problems],
        "unreadable": [entry.to_json(language) for entry in report.unreadable],
    }


def _dataset(dataset: DataSet, report: Report) -> dict[str, Any]:
    data = dataset.data
    digests = {} if report.contents is None else report.contents.digests
    return {
        "prefix": data.prefix,
        "dtype": data.dtype,
        "bytes": data.bin_bytes,
        "sequences": data.sequences,
        "documents": data.documents,
        "tokens": data.tokens,
        "multimodal": data.modes is not None,
        "empty_sequences": data.empty_sequences,
        "empty_documents": data.empty_documents,
        "lengths": _lengths(data.lengths),
        "seen": None if dataset.seen is None else _seen(dataset.seen),
        "round_trip": None
        if dataset.round_trip is None
        else {"equal": dataset.round_trip[0], "tried": dataset.round_trip[1]},
        "checksum": digests.get(data.prefix),
        "files": list(data.paths),
        "columns": list(data.names) if isinstance(data, RecordFile) else None,
    }


def _lengths(lengths: Any) -> dict[str, Any] | None:
    import numpy as np

    if not lengths.size:
        return None
    quarter, half, most = (float(value) for value in cast("Any", np.percentile(lengths, (25, 50, 75))))
    return {
        "minimum": int(lengths.min()),
        "maximum": int(lengths.max()),
        "mean": float(lengths.mean()),
        "quartiles": [quarter, half, most],
    }


def _seen(seen: Scan) -> dict[str, Any]:
    return {
        "tokens": seen.tokens,
        "sequences": seen.sequences,
        "complete": seen.complete,
        "minimum": seen.minimum,
        "maximum": seen.maximum,
        "counts": {str(token): count for token, count in seen.counts.items()},
        "ends": [{"id": token, "sequences": count} for token, count in list(seen.ends.items())[:_MOST_ENDS]],
    }


def _side(side: Side) -> dict[str, Any]:
    plan = side.plan
    blend = plan.blend
    entries: list[dict[str, Any]] = []
    for number, prefix in enumerate(() if blend is None else blend.prefixes):
        index = None if side.draws is None else side.draws.indices[number]
        entries.append(
            {
                "prefix": prefix,
                "path": side.files[prefix].prefix if prefix in side.files else None,
                "weight": None if blend is None or blend.weights is None else blend.weights[number],
                "asked": None if side.draws is None else side.draws.requests[number],
                "samples": None if index is None else len(index),
                "epochs": None if index is None else index.epochs,
                "last_epoch_apart": None if index is None else index.separate_last_epoch,
            }
        )
    if plan.rows is not None:
        entries.append(
            {
                "prefix": plan.rows.names[0],
                "path": next(iter(side.files), None),
                "weight": None,
                "asked": None,
                "samples": plan.samples,
                "epochs": plan.rows.epochs,
                "last_epoch_apart": None,
            }
        )
    return {
        "file": plan.file,
        "framework": plan.framework,
        "framework_version": plan.version,
        "data": entries,
        "split": plan.split,
        "seed": plan.seed,
        "sample_length": plan.sample_length,
        "samples": plan.samples,
        "global_batch": plan.global_batch,
        "data_parallel": plan.ranks,
        "order": plan.loader,
        "shuffled": plan.rows is not None and plan.rows.shuffled,
        "steps": plan.steps,
        "vocabulary": plan.vocabulary,
        "eod": plan.eod,
        "decided": plan.decided,
        "drawn": None if side.draws is None else side.draws.size,
    }
