"""Typed models of the files that people write for accmap: the configuration and the baseline.

Only these models define the keys. `compile_schemas.py` compiles them to the table that checks a configuration without
Pydantic, and to the schemas that `accmap schema` prints.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

Count = Annotated[int, Field(ge=1, le=2**53)]
"""A positive whole number that JSON represents exactly."""
Text = str | SkipJsonSchema[None]
Number = Count | SkipJsonSchema[None]
Words = list[str]


class _Closed(BaseModel):
    """A table of TOML or an object of JSON whose keys are all known."""

    model_config = ConfigDict(
        extra="forbid", populate_by_name=True, alias_generator=lambda name: name.replace("_", "-"), strict=True
    )


class PairEntry(_Closed):
    """The two files of a pair, or two patterns whose * match the same text: `a` and `b`, or a script and its YAML."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["a", "b"]}, {"required": ["megatron", "mindformers"]}]}
    )
    a: Text = None
    b: Text = None
    megatron: Text = None
    mindformers: Text = None
    steps: Number = None
    dataset_size: Number = None
    branch: Words = []


class VerifyTable(_Closed):
    """Settings of `accmap verify` for a project."""

    accept: Words = Field(
        [], description="Fields or keys that may differ although no model ran with them. The verdict stays `match`."
    )


class ConfigurationFile(_Closed):
    """`accmap.toml`, or `[tool.accmap]` of `pyproject.toml`."""

    extend: Text = Field(
        None, description="This key names a configuration file whose settings apply if this file does not set them."
    )
    megatron: Text = Field(None, description="This key sets the Megatron-LM version of the scripts.")
    mindformers: Text = Field(None, description="This key sets the MindSpore Transformers version of the YAMLs.")
    transformers: Text = Field(None, description="This key sets the version of transformers for a config.json.")
    dialect: Literal["static", "dynamic", "legacy"] | SkipJsonSchema[None] = Field(
        None,
        description="This key sets the format of the YAMLs: static graph, dynamic graph or older model class.",
    )
    profile: Literal["align", "train"] = Field(
        "align",
        description="This key sets the purpose of the pairs: accuracy alignment or a production run.",
    )
    select: Words = Field(
        [],
        description="accmap reports only these codes or prefixes of codes. ALL selects all codes. "
        "EQUAL selects the rules that compare the two files of a pair.",
    )
    ignore: Words = Field([], description="accmap does not report these codes.")
    extend_select: Words = Field([], description="accmap also reports these codes.")
    per_file_ignores: dict[str, Words] = Field(
        {}, description="For files that match a pattern, accmap does not report these codes."
    )
    severity: dict[str, Literal["error", "warning", "info"]] = Field(
        {}, description="This key changes the severity of a code."
    )
    fail_on: Literal["error", "warning", "info", "never"] = Field(
        "error", description="The exit code is 1 if a finding has this severity or a higher severity."
    )
    pairs: list[PairEntry] = Field(
        [],
        description="Each entry names the two files of a pair: `a` and `b`, or a script and its YAML. In patterns, * "
        "matches the same text in both files. An entry can also set the length of the run.",
    )
    rules: dict[str, dict[str, object]] = Field({}, description="This key sets options of single rules, by code.")
    accept_loss: Words = Field([], description="If only these fields or keys are not converted, the exit code is 0.")
    verify: VerifyTable = Field(
        VerifyTable(accept=[]), description="This key sets the differences that `verify` accepts."
    )
    baseline: Text = Field(None, description="This key names the baseline file, which contains accepted findings.")
    plugins: Words = Field([], description="accmap loads these entry points of the group accmap.rules.")
    declare: Words = Field([], description="This key declares arguments of a Megatron-LM fork as FLAG:NARGS[:TYPE].")
    branch: Words = Field(
        [],
        description="This key decides script conditions that accmap cannot determine: FILE:LINE=yes or FILE:LINE=no.",
    )
    lang: Literal["en", "zh"] = Field("en", description="This key sets the language of messages.")
    world_size: Number = Field(None, description="This key sets the number of devices if a file does not determine it.")
    steps: Number = Field(
        None, description="This key sets the number of steps of a run if a file does not determine it."
    )
    dataset_size: Number = Field(
        None, description="This key sets the number of samples in an epoch if a YAML does not determine it."
    )


class AcceptedFinding(_Closed):
    """One finding of a baseline, identified by the text of its lines and not by line numbers."""

    fingerprint: str
    count: Count


class BaselineFile(_Closed):
    """A file of `lint --write-baseline`: the findings that are accepted for now."""

    version: Literal[1, 2]
    files: list[str] = Field([], description="The checked files, as paths relative to the folder of the baseline.")
    findings: list[AcceptedFinding]
