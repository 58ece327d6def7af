"""What is known: one journal a pair of versions, and `mappings/proofs.yaml` made of them."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from minimal_pairs import Versions

from accmap.mappings.compile_proofs import digests_of
from accmap.mappings.tables import table
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.versions import names

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from accmap.mappings.tables import Row

ROOT = Path(__file__).parents[3]
PROOFS = ROOT / "mappings" / "proofs.yaml"
CENTRE, DYNAMIC = Versions("0.12", "1.9"), Versions("0.12", "2.1", "dynamic")
STAR = tuple(
    dict.fromkeys(
        (
            *(CENTRE, *(CENTRE._replace(megatron=name) for name in names("megatron"))),
            *(CENTRE._replace(mindformers=name) for name in names("mindformers")),
            *(DYNAMIC, DYNAMIC._replace(mindformers="2.0")),
            *(DYNAMIC._replace(megatron=name) for name in ("0.16", "0.19", "main")),
        )
    )
)
"""Every pair, the centre of each graph before those that differ from it in one version."""
_REASONS: dict[str, dict[str, Any]] = load_table(Path(__file__).with_name("reasons.yaml").read_text("utf-8"))
REASONS: dict[str, dict[str, str]] = {
    name: {language: text[language] for language in ("en", "zh")}
    for part in ("outcomes", "fields")
    for name, text in _REASONS[part].items()
}
DEFECTS: dict[tuple[str, str], str] = {
    (version, field): code for version, listed in _REASONS["defects"].items() for field, code in listed.items()
}
"""Framework and version, and a field whose row it keeps from holding → the defect's code."""
CLOSER: dict[str, str] = {field: name for name, text in _REASONS["fields"].items() for field in text["of"]}
"""Field → why a CPU tells nothing of it, where that is known more closely than by what came of asking."""
_NOTHING: dict[str, Any] = {
    "value": None, "context": "", "agrees": None, "parts": None, "carried": True, "computed": [], "said": "",
    "rounds": None,
}  # fmt: skip
"""Of an answer, what the file leaves out."""
_BY_FIELD = ("unseen", "no-value", "unwritten")
HEAD = """# What the models have said of every field with numeric impact: `tests/verifier/prove.py --report --write`
# `digest` is of the field's row: when what the row says changes, the proof no longer counts.
#   pairs    Megatron-LM × MindSpore Transformers
#   value    what was written in place of the context's value, and `from` which side accmap converted it
#   carried  false where the other side cannot have it: both models match without it, and part with it on one side
#   agrees   the largest relative difference of a loss, gradient or update between models that match
#   parts    the largest between those that must not, or the share of their samples that part; absent where not even
#            the weights are the same
#   rounds   where it shows in the files' own types alone: by how many ulp a side's own pass moves with the value
#   computed the computed quantities that the value moved, alike on both sides
"""


class Journal:
    """What one pair has said, row by row; the last word counts."""

    def __init__(self, versions: Versions, folder: Path) -> None:
        self.path = folder / f"{versions.stem}.jsonl"
        self.known: dict[str, dict[str, Any]] = {}
        self._standing = standing(versions)
        """What `mappings/proofs.yaml` has, so that a run goes on from there, too."""
        if self.path.exists():
            self.known = self.read(self.path)

    @staticmethod
    def read(path: Path) -> dict[str, dict[str, Any]]:
        """The last word on each row."""
        entries = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return {entry["row"]: entry for entry in entries}

    def knows(self, row: str, digest: str, elsewhere: Collection[str] = ()) -> bool:
        """Whether the row as it is now has been asked for.

        What was written and proved nothing of a field is asked again once the field is proved `elsewhere`.
        """
        entry = self.known.get(row) or self._standing.get(row)
        if entry is None or entry["digest"] != digest or outcome(entry) in ("fails", "ask"):
            return False
        proved = {tried["field"] for tried in entry["fields"] if tried["outcome"] == "proved"}
        return row in self.known or proved.issuperset(elsewhere)

    def by_field(self) -> dict[str, dict[str, Any]]:
        """What was said of each field, here or in what was written before."""
        said = (self._standing | self.known).values()
        return {tried["field"]: tried for entry in said for tried in entry["fields"]}

    def add(self, row: str, digest: str, fields: list[dict[str, Any]]) -> None:
        """One row's answer."""
        today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        self.known[row] = {"row": row, "digest": digest, "date": today, "fields": fields}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(self.known[row], ensure_ascii=False) + "\n")


def standing(versions: Versions) -> dict[str, dict[str, Any]]:
    """What `mappings/proofs.yaml` says of a pair, as a journal does, of the rows that are as they were."""
    marks, row_of = digests(), _rows()
    found: dict[str, dict[str, Any]] = {}
    for field, entry in load_table(PROOFS.read_text("utf-8"))["fields"].items():
        row = row_of.get(field)
        if row is None or entry["digest"] != marks.get(row):
            continue
        for said in _answers(entry):
            reason = said.get("reason", "proved")
            if reason not in ("proved", *_REASONS["outcomes"]) and CLOSER.get(field) != reason:
                reason = "ask"  # it is no longer known for this reason that a CPU tells nothing
            if str(versions) in said["pairs"]:
                at = found.setdefault(row, {"row": row, "digest": entry["digest"], "date": "", "fields": []})
                at["date"] = max(at["date"], str(said.get("date", "")))
                tried = {name: said.get(name, otherwise) for name, otherwise in _NOTHING.items()}
                tried |= {"field": field, "outcome": reason, "origin": said.get("from", "")}
                at["fields"].append(tried)
    return found


def _rows() -> dict[str, str]:
    """Field → the row that it is a field of."""
    return {field: row.fields[0] for row in table().rows for field in row.fields}


def not_asked(rows: Sequence[Row]) -> dict[str, list[str]]:
    """The first fields of rows that have no answer since they last changed, by pair of versions."""
    return {
        str(versions): [row.fields[0] for row in rows if row.fields[0] not in known]
        for versions in STAR
        if (known := standing(versions))
    }


def _answers(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """What pairs of versions have said of a field."""
    return [*entry.get("proved", ()), *entry.get("unproved", ())]


def digests() -> dict[str, str]:
    """Row → digest of what it says now."""
    return digests_of(lambda name: (ROOT / "mappings" / name).read_text("utf-8"))


def changed_since(commit: str) -> set[str]:
    """The rows that are others than in a commit, or were not there."""

    def then(name: str) -> str:
        asked = ["git", "-C", str(ROOT), "show", f"{commit}:mappings/{name}"]
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout

    before = digests_of(then)
    return {row for row, digest in digests().items() if before.get(row) != digest}


def outcome(entry: dict[str, Any]) -> str:
    """One word for a row: proved where every field is that either framework can set; else the worst of them."""
    said = {one["outcome"] for one in entry["fields"]} - {"nothing-to-set"}
    return next(
        (
            word
            for word in ("ask", "fails", "defect", "not-run", "untyped", "unseen", "unwritten", "no-value", "proved")
            if word in said
        ),
        "nothing-to-set",
    )


def summary(versions: Versions, rows: Sequence[Row], journal: Journal) -> int:
    """Print the counts of a pair; the number of rows that fail."""
    counts = Counter(
        outcome(journal.known[row.fields[0]]) if row.fields[0] in journal.known else "not-asked" for row in rows
    )
    print(f"{versions}: {len(rows)} rows, " + ", ".join(f"{count} {name}" for name, count in counts.most_common()))
    return counts["fails"]


def write_proofs(folder: Path) -> None:
    """`mappings/proofs.yaml` of what stands there and every journal; pairs that said the same stand together."""
    marks, row_of = digests(), _rows()
    fields: dict[str, dict[str, Any]] = {}
    for versions in STAR:
        pair, path = str(versions), folder / f"{versions.stem}.jsonl"
        for entry in (standing(versions) | (Journal.read(path) if path.exists() else {})).values():
            if entry["digest"] != marks.get(entry["row"]):
                continue
            for tried in (one for one in entry["fields"] if one["outcome"] != "ask"):
                at = fields.setdefault(tried["field"], {"digest": entry["digest"], "proved": {}, "unproved": {}})
                _take(at, pair, entry["date"], tried)
    order = [field for row in table().rows for field in row.fields if field in fields]
    lines = [HEAD, yaml.safe_dump({"reasons": REASONS}, allow_unicode=True, width=118, sort_keys=False), "fields:\n"]
    for field in order:
        at = fields[field]
        entry: dict[str, Any] = {} if row_of[field] == field else {"row": row_of[field]}
        entry["digest"] = at["digest"]
        entry |= {kind: list(at[kind].values()) for kind in ("proved", "unproved") if at[kind]}
        text = yaml.safe_dump({field: entry}, allow_unicode=True, width=118, sort_keys=False, default_flow_style=None)
        lines.append("".join(f"  {line}\n" for line in text.splitlines()))
    PROOFS.write_text("".join(lines), "utf-8")
    subprocess.run([sys.executable, str(ROOT / "tools" / "block_yaml.py"), str(PROOFS)], check=True)


def _take(at: dict[str, Any], pair: str, date: str, tried: dict[str, Any]) -> None:
    """One answer, beside those that say the same."""
    if tried["outcome"] == "proved":
        by_types = tried.get("rounds") is not None
        same = json.dumps([*(tried[name] for name in ("value", "context", "origin", "carried")), by_types])
        entry = at["proved"].setdefault(same, {"pairs": [], "date": date})
        entry["pairs"].append(pair)
        entry |= {"date": max(entry["date"], date)}
        entry |= {"value": tried["value"], "context": tried["context"], "from": tried["origin"]}
        if not tried["carried"]:
            entry["carried"] = False
        for name in ("agrees", "parts", "rounds"):
            if tried.get(name) is not None:
                entry[name] = max(entry.get(name, 0.0), tried[name])
        if tried["computed"]:
            entry["computed"] = tried["computed"]
    else:
        reason = tried["outcome"]
        if reason in _BY_FIELD:
            reason = CLOSER.get(tried["field"], reason)
        entry = at["unproved"].setdefault((reason, tried["said"][:160]), {"pairs": [], "reason": reason})
        entry["pairs"].append(pair)
        if tried["said"]:
            entry["said"] = tried["said"][:160]
