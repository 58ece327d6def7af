"""What people write for accmap, as typed models: the configuration and the baseline.

They are the only place that says which keys there are. `compile_schemas.py` makes of them what a run checks a
configuration with, which imports no Pydantic, and what `accmap schema` prints.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

Count = Annotated[int, Field(ge=1, le=2**53)]
"""What a JSON number holds exactly."""
Text = str | SkipJsonSchema[None]
Number = Count | SkipJsonSchema[None]
Words = list[str]


class _Closed(BaseModel):
    """A table of TOML or an object of JSON whose keys are all known."""

    model_config = ConfigDict(
        extra="forbid", populate_by_name=True, alias_generator=lambda name: name.replace("_", "-"), strict=True
    )


class PairEntry(_Closed):
    """The two files of a pair, or two patterns whose * stand for the same: `a` and `b`, or a script and its YAML."""

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
    """What `accmap verify` is told of a project."""

    accept: Words = Field(
        [], description="Recipe fields or keys that may differ without being run: they leave a match one."
    )


class ConfigurationFile(_Closed):
    """`accmap.toml`, or `[tool.accmap]` of `pyproject.toml`."""

    extend: Text = Field(None, description="Another configuration file that this one builds upon.")
    megatron: Text = Field(None, description="Megatron-LM version of the scripts.")
    mindformers: Text = Field(None, description="MindSpore Transformers version of the YAMLs.")
    transformers: Text = Field(None, description="Version of transformers that reads a config.json.")
    dialect: Literal["static", "dynamic", "legacy"] | SkipJsonSchema[None] = Field(
        None, description="MindSpore Transformers dialect."
    )
    profile: Literal["align", "train"] = Field(
        "align", description="What the pairs are for: precision alignment, or a production run."
    )
    select: Words = Field([], description="Codes, or their first letters, that are reported; ALL for all.")
    ignore: Words = Field([], description="Codes that are not reported.")
    extend_select: Words = Field([], description="Codes added to those selected.")
    per_file_ignores: dict[str, Words] = Field(
        {}, description="Codes that are not reported for files that match a pattern."
    )
    severity: dict[str, Literal["error", "warning", "info"]] = Field({}, description="Another severity for a code.")
    fail_on: Literal["error", "warning", "info", "never"] = Field(
        "error", description="The least severity that makes the exit code 1."
    )
    pairs: list[PairEntry] = Field(
        [],
        description="Which two files are a pair (a and b, or a script and its YAML): paths or patterns whose * stand "
        "for the same, and their length.",
    )
    rules: dict[str, dict[str, object]] = Field({}, description="Options of single rules, by code.")
    accept_loss: Words = Field(
        [], description="Recipe fields or keys whose loss a translation may have with exit code 0."
    )
    verify: VerifyTable = Field(VerifyTable(accept=[]), description="What `verify` accepts.")
    baseline: Text = Field(None, description="A baseline file of accepted findings.")
    plugins: Words = Field([], description="Entry points of the group accmap.rules that are loaded.")
    declare: Words = Field([], description="Arguments of a Megatron-LM fork: flag:nargs[:type].")
    branch: Words = Field(
        [], description="Conditions in scripts that reading cannot decide: FILE:LINE=yes or FILE:LINE=no."
    )
    lang: Literal["en", "zh"] = Field("en", description="Language of messages.")
    world_size: Number = Field(None, description="How many devices, where a file cannot say.")
    steps: Number = Field(None, description="How many updates the runs make, where a file cannot say.")
    dataset_size: Number = Field(None, description="Samples of one epoch, where a YAML cannot say.")


class AcceptedFinding(_Closed):
    """One finding of a baseline, by what stands in the file and not by its line number."""

    fingerprint: str
    count: Count


class BaselineFile(_Closed):
    """What `lint --write-baseline` writes: the findings that are accepted for now."""

    version: Literal[1, 2]
    files: list[str] = Field([], description="Every file that was linted, by its path from the baseline's folder.")
    findings: list[AcceptedFinding]
