"""From the model's section to the `TransformerConfig` of its network, in both graphs."""

from __future__ import annotations

from ..config import Unresolved
from ..light_typing import TYPE_CHECKING
from .conversion import convert
from .messages_compiled import say
from .model_class import PREFIX, model_class
from .reading import Sourced
from .resolution import transformer_config
from .value_types import checked_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .constructors import Builder
    from .reading import Reading
    from .resolution import Trainer

_TYPE = f"{PREFIX}.model_type"


def resolve_network(reading: Reading, run: Builder, latent: Mapping[str, bool] | None = None, name: str = "") -> bool:
    """Answer with the fields that the section and what the trainer hands over set; False where no class is known.

    In the dynamic graph the network's `name` says whether it is `latent`, and the sections' defaults are handed over.
    """
    model = model_class(reading, run.under("attributes."))
    if model is None:
        return False
    reading.resolve("resolved.model.class", model.facts["class"], _TYPE)
    handed = run.under("handed.")
    if latent is not None:
        model = model._replace(mla=latent.get(name, model.mla))
        parallel = reading.catalog["sections"]["parallel_config"]["defaults"]
        handed = {**{key: Sourced(value) for key, value in parallel.items()}, **handed}
    fields = checked_fields(reading, convert(reading, model, handed), static=latent is None)
    transformer_config(reading, fields, mla=model.mla)
    return True


def static_network(run: Trainer) -> None:
    """The network of the static graph; every field is open where its class is not known."""
    reading = run.reading
    if not resolve_network(reading, run):
        kind = reading.get(_TYPE)
        undecided_network(reading, *((str(kind), _TYPE) if kind else (PREFIX, PREFIX)))


def undecided_network(reading: Reading, text: str, path: str) -> None:
    """Leave every field of the network open."""
    span = reading.place(path)
    if span is not None:
        reading.unresolved.append(Unresolved(text, say.network_unknown(), span))
    for name in (*reading.catalog["transformer"], *reading.catalog["mla_transformer"]):
        reading.resolve(f"resolved.transformer.{name}", None, path, decided=False)
