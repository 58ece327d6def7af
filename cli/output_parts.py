"""What the models of every command's JSON are made of."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Impact = Literal["numerics", "performance", "none"]
Number = float | Literal["nan", "inf", "-inf"]


class Open(BaseModel):
    """An object that may gain keys."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)


class SpanJson(Open):
    """A place in a file: counted from 1, columns in characters, the end exclusive."""

    file: str | None = Field(None, description="Only where it is not the file that the enclosing object names.")
    line: Annotated[int, Field(ge=1)]
    column: Annotated[int, Field(ge=1)]
    end_line: Annotated[int, Field(ge=1)]
    end_column: Annotated[int, Field(ge=1)]
