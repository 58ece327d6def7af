"""What the models of JSON answers are made of: open objects, and for each member where its value comes from.

A model is the only definition of an answer: `answer_writers.py` compiles it to a plain function that writes a record
so, and `accmap schema` prints its JSON Schema. A member without a mark is the record's attribute of the same name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from collections.abc import Mapping

Number = float | Literal["nan", "inf", "-inf"]


class Open(BaseModel):
    """An object that may gain keys."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)
    taken_from: ClassVar[Mapping[str, str]] = {}
    """Base model → the attribute of the record that the base's members are taken from."""


@dataclass(frozen=True)
class From:
    """The attribute that the value is, as a path; behind `?.` it is None where there is nothing to ask."""

    path: str


@dataclass(frozen=True)
class Said:
    """The method that answers with a text in the language of the answer."""

    method: str


@dataclass(frozen=True)
class Spoken:
    """The attributes `en` and `zh` of the record are the text."""


@dataclass(frozen=True)
class Given:
    """The record does not know it: whoever writes the answer says it."""


@dataclass(frozen=True)
class LeftOut:
    """Not written where it has this value."""

    where: object


@dataclass(frozen=True)
class OnlyWith:
    """Left out where this attribute of the record is None; the member's kind has None for that alone."""

    path: str


@dataclass(frozen=True)
class Late:
    """A list whose records are put into words where one is looked at: all of them would take more than they tell."""


@dataclass(frozen=True)
class AsJson:
    """A value of a configuration, which JSON may not have as it is."""


Value = Annotated[Any, AsJson()]
Figure = Annotated[Number, AsJson()]
"""A number that JSON may not have as it is."""
Text = Annotated[str, Said("text")]
"""A message, in the language of the answer."""
