"""MindSpore Transformers' real TransformerConfig of YAML files: `shared_fields_mindformers.py static|dynamic FILE...`.

The static dialect goes through `MindFormerConfig` and its template, the dynamic one through `TrainConfig`; then the
model class's own conversion makes the TransformerConfig. One JSON line for each file.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import os
import sys
import types
from pathlib import Path
from typing import Any, cast

import yaml

CLASSES = {
    "deepseek_v3": ("deepseek3", "DeepseekV3", True),
    "qwen3": ("qwen3", "Qwen3", False),
    "qwen3_moe": ("qwen3_moe", "Qwen3Moe", False),
    "telechat3": ("telechat3", "TeleChat3", False),
    "telechat3_moe": ("telechat3_moe", "TeleChat3Moe", True),
}
SINCE_1_9 = ("parallelism", "recompute", "training")
"""Sections of the dynamic dialect that have got further keys in 2.0; none of them is the model's."""


def said(value: Any) -> object:
    """A value as JSON: a function by what it computes, a type by its name."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [said(entry) for entry in cast("list[Any]", value)]
    if isinstance(value, types.FunctionType) and value.__closure__:
        cells = dict(zip(value.__code__.co_freevars, value.__closure__, strict=True))
        deviation = cells.get("sigma", cells.get("std"))
        return value.__name__ if deviation is None else f"normal({deviation.cell_contents:.12g})"
    return str(value).lower()


def static(path: str) -> object:
    register = importlib.import_module("mindformers.tools.register")
    template = importlib.import_module("mindformers.tools.register.template")
    loaded = register.MindFormerConfig(path)
    template.ConfigTemplate.apply_template(loaded)
    loaded = register.MindFormerConfig(**loaded)
    model = loaded.model.model_config
    folder, name, latent = CLASSES[model.model_type]
    settings_of = importlib.import_module(f"mindformers.models.{folder}.configuration_{model.model_type}")
    base = importlib.import_module(f"mindformers.models.{folder}.utils")
    model.parallel_config = loaded.parallel_config
    model.parallel_config.recompute = loaded.recompute_config
    settings = getattr(settings_of, f"{name}Config")(**model)
    owner: Any = getattr(base, f"{name}PreTrainedModel", None)
    if hasattr(owner, "convert_to_transformer_config"):
        return owner.convert_to_transformer_config(owner.__new__(owner), settings, is_mla_model=latent)
    convert = importlib.import_module("mindformers.parallel_core.transformer_config_utils")
    return convert.convert_to_transformer_config(settings, is_mla_model=latent)


def dynamic(path: str) -> object:
    importlib.import_module("mindformers.models")
    register = importlib.import_module("mindformers.tools.register")
    setattr(importlib.import_module("mindformers.tools.register.register"), "is_legacy_model", bool)  # noqa: B010
    content: dict[str, Any] = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    if importlib.import_module("mindformers").__version__.startswith("1."):
        content = {section: value for section, value in content.items() if section not in SINCE_1_9}
    run = importlib.import_module("mindformers.pynative.config").TrainConfig.from_dict(content)
    kind = register.MindFormerModuleType.CONFIG
    model = register.MindFormerRegister.get_instance_from_cfg(run.model.to_dict(), kind)
    return model.convert_to_transformer_config("deepseek" in run.model.model_type)


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands for `hyper_parallel`, which MindSpore Transformers 2.x imports and which is not on PyPI."""

    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] == "hyper_parallel":
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = types.ModuleType(spec.name)
        module.__getattr__ = inert  # type: ignore[method-assign]
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        del module


class Inert(type):
    """A class of which every attribute is such a class again."""

    def __getattr__(cls, name: str) -> type:
        return inert(name)

    def __or__(cls, other: object) -> type:
        return cls

    def __ror__(cls, other: object) -> type:
        return cls


def inert(name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(name)
    return Inert(name, (), {"__init__": nothing})


def nothing(*_: object, **__: object) -> None:
    pass


def main() -> None:
    os.environ.update(GLOG_v="4", RUN_MODE="train")
    if importlib.util.find_spec("hyper_parallel") is None:
        sys.meta_path.insert(0, Absent())
    load = {"static": static, "dynamic": dynamic}[sys.argv[1]]
    output = sys.stdout
    for path in sys.argv[2:]:
        with contextlib.redirect_stdout(io.StringIO()):
            answer = {name: said(value) for name, value in vars(load(path)).items() if not isinstance(value, dict)}
        output.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
