"""The one list of versions: well formed, and nowhere told a second time."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from accmap.schemas import versions
from accmap.schemas.compilers import constants as authored_versions
from accmap.schemas.config import Basis
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.megatron.catalog import normalise_version
from accmap.schemas.megatron.versions import by_tree
from accmap.schemas.versions import minor_of

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("api", "cli", "evidence", "rules", "verifier", "mapper", "mappings", "schemas")
TOLD_APART = {
    # What a version does is a fact of that version, and not the list of them.
    "schemas/mindformers/launch_reading.py": "the run modes that each version's run_mindformer.py knows",
    "schemas/mindformers/network.py": "the versions that convert by the common table",
}


def test_uses() -> None:
    assert versions.default_name("megatron", "megatron") == "0.12"
    assert versions.default_name("mindformers", "static") == "1.9"
    assert versions.default_name("mindformers", "dynamic") == "2.1"
    assert versions.stand_ins("mindformers", "static") == {"2.0": "2.1"}
    assert "2.0" not in versions.names_with_facts("mindformers", "static")
    assert "2.0" in versions.names("mindformers", "static", "write")
    assert versions.names("mindformers", "legacy", "write") == ()
    assert versions.names("megatron", use="verify") == versions.names("megatron")
    assert versions.names("mindformers", use="verify") == versions.names("mindformers")


def test_order() -> None:
    assert versions.number_of("1.9") < versions.number_of("1.10.2") == (1, 10)
    for framework in ("megatron", "mindformers"):
        names = versions.names(framework)
        assert sorted(names, key=versions.number_of) == list(names)


def test_the_verifier_installs_what_it_builds() -> None:
    # Of the versions of files that do not say theirs; others are prepared beside them, or named.
    other = ("dynamic", "transformers")
    usual = [version for version in versions.ALL if "default" in version.uses and version.dialect not in other]
    assert all("verify" in version.uses and version.install == version.wheel for version in usual)
    wheels = {version.wheel for version in usual}
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert all(f'"{wheel}"' in text for wheel in wheels)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ({"name": "0.20", "tag": "t", "megatron": "reed"}, "has no"),
        ({"name": "0.20", "megatron": "read"}, "where its source is"),
        ({"name": "newest", "tag": "t", "megatron": "read"}, "number"),
        ({"name": "0.20", "tag": "t", "static": "read"}, "static"),
        ({"name": "0.20", "tag": "t", "megatron": "read", "facts": {"megatron": "0.99"}}, "of no version"),
        ({"name": "0.9", "tag": "t", "megatron": "read"}, "order"),
        ({"name": "0.20", "tag": "t", "megatron": "default read"}, "2 defaults"),
    ],
)
def test_a_malformed_line_is_refused(
    line: dict[str, object], wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import yaml

    content = authored_versions.read_versions()
    content["megatron"].append(line)
    source = tmp_path / "versions.yaml"
    source.write_text(yaml.safe_dump(content), "utf-8")
    monkeypatch.setattr(authored_versions, "VERSIONS_SOURCE", source)
    with pytest.raises(ValueError, match=wrong):
        authored_versions.read_versions()


def test_no_other_module_lists_versions() -> None:
    """A tuple, list, set or mapping that holds three versions or more is a list of them."""
    known = {*versions.names("megatron"), *versions.names("mindformers")}
    told: dict[str, int] = {}
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            if name.endswith("_compiled.py") or name in TOLD_APART:
                continue
            text = path.read_text("utf-8")
            if sum(f'"{version}"' in text or f"'{version}'" in text for version in known) < 3:
                continue
            for node in ast.walk(ast.parse(text)):
                held = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", ())
                values = {one.value for one in held if isinstance(one, ast.Constant) and isinstance(one.value, str)}
                if len(values & known) > 2:
                    told[name] = node.lineno  # type: ignore[attr-defined]  # pyright: ignore
    assert not told


def test_every_name_is_a_version_of_the_command_line() -> None:
    assert {minor_of(name) or name for name in versions.names("megatron")} == set(versions.names("megatron"))


def test_what_is_no_release_is_said() -> None:
    label = next(str(one["label"]) for one in authored_versions.read_versions()["megatron"] if one["name"] == "main")
    assert versions.label_of("megatron", "main") == label
    assert versions.label_of("megatron", "0.19") is None
    released = [name for name in versions.names("megatron") if name[0].isdigit()]
    branches = [name for name in versions.names("megatron") if name not in released]
    assert versions.known_names("megatron") == ", ".join([f"{released[0]}–{released[-1]}", *branches])
    assert versions.name_with("megatron", versions.number_of("main")) == "main"
    assert versions.number_of(released[-1]) < versions.number_of("main")
    basis = Basis("megatron", "main", "given")
    assert basis.text("en") == f"megatron main = {label} (given)"
    assert basis.to_json()["version_label"] == label
    with pytest.raises(UnreadableError, match=r"accmap does not support Megatron-LM 0\.99"):
        normalise_version("0.99")


def test_a_tree_of_the_main_branch_is_read_as_main() -> None:
    stated = ".".join(map(str, versions.number_of("main")))
    chosen, problems = by_tree((f"{stated}.0", "megatron/core/package_info.py"), "train.sh")
    assert chosen is not None
    assert (chosen.version, problems) == ("main", ())
    unknown, said = by_tree(("0.99.0", "megatron/core/package_info.py"), "train.sh")
    assert unknown is None
    assert versions.known_names("megatron") in said[0].message("en")
