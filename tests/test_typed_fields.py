"""A recipe field, a lens or a comparison that is misspelt is an error of the type checker or of the tables' maker."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from accmap.mapper import compile_vocabulary
from accmap.mappings import compile_tables
from accmap.schemas.compilers.tables import load_table

ROOT = Path(__file__).resolve().parents[1]
USES = (
    "def one(side: Side) -> object:\n    return side.value({name!r})\n",
    "def one(side: Side) -> object:\n    return side.field({name!r})\n",
    "def one(recipe: Recipe) -> object:\n    return recipe.value({name!r})\n",
    "def one(recipe: Recipe) -> object:\n    return recipe.fields.get({name!r})\n",
)
HEAD = "from accmap.mapper.recipe.values import Recipe\nfrom accmap.rules.subject import Side\n\n\n"
SETTINGS = '{"include": ["."], "extraPaths": ["%s"], "typeCheckingMode": "strict", "reportUnusedImport": false}'


def test_the_type_checker_knows_every_field(tmp_path: Path) -> None:
    (tmp_path / "pyrightconfig.json").write_text(SETTINGS % (ROOT / ".typing"), encoding="utf-8")
    for number, use in enumerate(USES):
        (tmp_path / f"right_{number}.py").write_text(HEAD + use.format(name="moe.num_experts"), encoding="utf-8")
        (tmp_path / f"wrong_{number}.py").write_text(HEAD + use.format(name="moe.num_expert"), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = {Path(one["file"]).stem for one in load_table(done.stdout)["generalDiagnostics"]}
    assert found == {f"wrong_{number}" for number in range(len(USES))}, done.stdout


def misspelt(one: str) -> str:
    return one[:-1] if one[-1] != one[-2] else one + "x"


@pytest.mark.long
@pytest.mark.parametrize("topic", compile_tables.TOPICS)
def test_a_misspelt_name_is_an_error_of_the_tables_maker(
    topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kind of name of every topic, once: a field, a condition's, a comparison, a lens, an argument, a key."""
    authored = (compile_tables.HERE / f"{topic}.yaml").read_text("utf-8")
    path = tmp_path / f"{topic}.yaml"
    monkeypatch.setattr(compile_tables, "topics", lambda: [path])
    path.write_text(authored, encoding="utf-8")
    compile_tables.compile_tables()
    for change in (_field, _condition, _comparison, _lens, _argument, _lens_of_a_graph, _key):
        content = load_table(authored)
        if not any(change(row) for row in content["rows"]):
            continue
        path.write_text(json.dumps(content), encoding="utf-8")  # which is YAML, too
        with pytest.raises((ValidationError, ValueError), match=r"Input should be|no version of M"):
            compile_tables.compile_tables()


def _field(row: dict[str, Any]) -> bool:
    if "field" in row:
        row["field"] = misspelt(row["field"])
    else:
        row["fields"][0] = misspelt(row["fields"][0])
    return True


def _condition(row: dict[str, Any]) -> bool:
    return _in_condition(row, 0)


def _comparison(row: dict[str, Any]) -> bool:
    return _in_condition(row, 1)


def _in_condition(row: dict[str, Any], place: int) -> bool:
    for condition in [one for caveat in row.get("caveats", ()) for one in caveat["when"]]:
        condition[place] = misspelt(condition[place])
        return True
    return False


def _lens(row: dict[str, Any]) -> bool:
    side = row["megatron"]
    if not isinstance(side, dict) or "lens" not in side:
        return False
    side["lens"] = misspelt(str(side["lens"]))
    return True


def _argument(row: dict[str, Any]) -> bool:
    if not isinstance(row["megatron"], str) or row["megatron"] == "none":
        return False
    row["megatron"] = misspelt(row["megatron"])
    return True


def _lens_of_a_graph(row: dict[str, Any]) -> bool:
    for side in (row[graph] for graph in ("static", "dynamic") if isinstance(row.get(graph), dict)):
        if "lens" in side:
            side["lens"] = misspelt(str(side["lens"]))
            return True
    return False


def _key(row: dict[str, Any]) -> bool:
    for side in (row[graph] for graph in ("static", "dynamic") if isinstance(row.get(graph), dict)):
        if side.get("keys"):
            side["keys"][0] = misspelt(side["keys"][0])
            return True
    return False


def test_a_misspelt_field_or_group_of_a_module_stops_the_maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authored = compile_vocabulary.MODULES.read_text("utf-8")
    path = tmp_path / "modules.yaml"
    monkeypatch.setattr(compile_vocabulary, "MODULES", path)
    for right, wrong in (("mtp.num_layers", "mtp.num_layer"), ("[latent, heads]", "[latent, head]")):
        assert right in authored
        path.write_text(authored.replace(right, wrong), encoding="utf-8")
        with pytest.raises(ValueError, match=r"modules\.yaml: there is no recipe field (mtp\.num_layer|head)$"):
            compile_vocabulary.products()
