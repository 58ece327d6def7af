"""The older model classes: what their code fixes, which keys decide, and what nobody here knows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.translate.translation import translate
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.file_kind import unknown_class
from accmap.schemas.mindformers import compile_facts
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from accmap.schemas.config import Config

CASES: list[dict[str, Any]] = load_table((Path(__file__).parent / "legacy_cases.yaml").read_text(encoding="utf-8"))
KNOWN = [case for case in CASES if "expected" in case]
UNKNOWN = [case for case in CASES if "unknown" in case]


def text_of(case: dict[str, Any]) -> str:
    model: dict[str, Any] = {"model_config": case["config"]}
    if case["arch"] is not None:
        model["arch"] = {"type": case["arch"]}
    tree: dict[str, Any] = {"run_mode": "train", "trainer": {"type": "CausalLanguageModelingTrainer"}, "model": model}
    if "experts" in case:
        tree["moe_config"] = case["experts"]
    return yaml.safe_dump(tree)


def read(case: dict[str, Any], version: str) -> Config:
    return config_of(SourceText("train.yaml", text_of(case)), ReadOptions(mindformers=version), path="train.yaml")


@pytest.mark.parametrize("case", KNOWN, ids=lambda case: case["name"])
def test_what_the_class_builds(case: dict[str, Any]) -> None:
    for version in case.get("versions", ["1.6", "1.9"]):
        config = read(case, version)
        assert unknown_class(config) is None
        found = {name: config.value(f"resolved.transformer.{name}") for name in case["expected"]}
        assert found == case["expected"], version
        for name in case.get("by_class", ()):
            setting = config.settings[f"resolved.transformer.{name}"]
            assert (setting.origin, setting.derived_from) == ("derived", ("model.model_config.type",)), name
        for key in case.get("ignored", ()):
            path = key if key.startswith("moe_config.") else f"model.model_config.{key}"
            assert config.settings[path].acceptance == "ignored", key


def test_the_key_that_decides_is_the_reason() -> None:
    config = read(KNOWN[1], "1.9")
    for name, key in {"rotary_base": "theta", "num_query_groups": "n_kv_heads", "vocab_size": "vocab_size"}.items():
        sources = config.settings[f"resolved.transformer.{name}"].derived_from
        assert f"model.model_config.{key}" in sources, name
    assert (
        config.settings["resolved.transformer.ffn_hidden_size"].derived_from
        == (
            "model.model_config.ffn_dim_multiplier",
            "model.model_config.multiple_of",
            "model.model_config.hidden_size",
            "model.model_config.intermediate_size",
        )[:3]
    )


@pytest.mark.parametrize("case", UNKNOWN, ids=lambda case: case["name"])
def test_an_unknown_class_leaves_the_network_open(case: dict[str, Any]) -> None:
    for version in case.get("versions", ["1.6", "1.9"]):
        config = read(case, version)
        problem = unknown_class(config)
        assert problem is not None
        assert problem.kind.severity == "warning"
        assert case["unknown"] in problem.message("en")
        assert [entry.reason for entry in config.unresolved] == [
            "accmap does not support the network of the model class"
        ]
        assert config.unresolved[0].why("zh") != config.unresolved[0].reason
        fields = recipe_of(config).fields
        network = [one for name, one in fields.items() if name.split(".", 1)[0] in ("attention", "position", "norm")]
        assert network
        assert not any(one.decided or one.value is not None for one in network)
        with pytest.raises(UnreadableError):
            translate(config)


def test_a_file_read_before_does_not_shine_through() -> None:
    known, unknown = KNOWN[0], UNKNOWN[0]
    for case in (known, unknown, known, unknown):
        kind = recipe_of(read(case, "1.9")).fields["norm.type"]
        assert kind.value == ("RMSNorm" if case is known else None)


def test_a_malformed_class_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "classes.yaml"
    path.write_text("classes:\n- {name: x, sources: [y], fieldz: []}\n", encoding="utf-8")
    monkeypatch.setattr(compile_facts, "LEGACY_CLASSES", str(path))
    with pytest.raises(ValueError, match="fieldz"):
        compile_facts.read_classes()
