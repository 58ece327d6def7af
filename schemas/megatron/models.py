"""The typed view of Megatron-LM's arguments: one documented Pydantic model a version, and its JSON Schema.

Not on the lean path: a model is built from the compiled catalog when it is first asked for. A model's
fields are the arguments' destinations, its defaults the parser's; a `Config` read from a file becomes an
instance with `values_of`. Forks' arguments are kept as extra fields.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Optional

from pydantic import BaseModel, ConfigDict, Field, create_model

from .catalog import catalog
from .forks import normalise_version

if TYPE_CHECKING:
    from ..config import Config
    from .catalog import ArgumentFact, Nargs

_TYPES: dict[str | None, Any] = {
    None: str,
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "name": str,
    "frequency": int | list[int],
    "integers": list[int],
}


class MegatronArguments(BaseModel):
    """The arguments of one Megatron-LM version, as its parser leaves them."""

    model_config = ConfigDict(extra="allow", validate_default=False, protected_namespaces=())

    @classmethod
    def values_of(cls, config: Config) -> MegatronArguments:
        """The effective values of a file; what cannot be decided keeps no value."""
        decided: dict[str, Any] = {key: setting.value for key, setting in config.settings.items() if setting.decided}
        return cls.model_construct(**decided)


def _field_type(fact: ArgumentFact) -> Any:
    """Python type of an argument for its pydantic field."""
    if fact.action != "store":
        kind: Any = bool
    elif fact.choices is not None:
        kind = Literal[tuple(choice for choice in fact.choices if choice is not None)]
    else:
        kind = _TYPES[fact.type]
    if fact.nargs is not None and fact.nargs != "?":
        kind = list[kind]
    return Optional[kind] if fact.default is None else kind  # noqa: UP045 - the type is only known here


def _field_description(fact: ArgumentFact) -> str:
    """Description of an argument: options, number of values and type."""
    flags = ", ".join(fact.options)
    if fact.action == "true":
        how = "a switch: true where it is given"
    elif fact.action == "false":
        how = "a switch: false where it is given"
    elif fact.action == "switch":
        how = "a switch with its opposite"
    else:
        many: dict[Nargs, str] = {None: "one", "?": "at most one", "*": "any number of", "+": "one or more"}
        how = f"takes {many.get(fact.nargs, str(fact.nargs))} {fact.type or 'str'}"
    return f"{flags}: {how} (group “{fact.group}”)."


@cache
def _arguments_model(version: str) -> type[MegatronArguments]:
    """Pydantic model of all arguments of a version."""
    fields: dict[str, Any] = {}
    for dest, fact in catalog(version).by_dest.items():
        others = [other for other in catalog(version).arguments if other.dest == dest]
        text = " ".join(_field_description(other) for other in others)
        fields[dest] = (_field_type(fact), Field(default=fact.default, description=text))
    name = f"Megatron{version.replace('.', '_')}Arguments"
    doc = f"The arguments of Megatron-LM {version}, as its parser leaves them."
    return create_model(name, __base__=MegatronArguments, __doc__=doc, **fields)


def model(version: str) -> type[MegatronArguments]:
    """The model of a version; `0.12.3` and `core_r0.12.0` name 0.12."""
    return _arguments_model(normalise_version(version))
