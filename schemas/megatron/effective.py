"""What Megatron-LM makes of an argument vector: every argument's effective value, and where it comes from.

First the vector is taken apart as argparse does (`parsing`), then the validation of that version runs over the
values (`validation`): what it changes is `derived`, what it refuses is a problem.
"""

from __future__ import annotations

from ..config import Config, Setting
from ..light_typing import TYPE_CHECKING
from .catalog import DEFAULT_VERSION, catalog, normalise_version
from .outside_values import with_overridable
from .parsing import parse, with_declared
from .validation import validate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..config import Argument, Launch, ReadOptions, Unresolved
    from ..diagnostic import Diagnostic
    from .catalog import Catalog


def megatron_config(
    arguments: Sequence[Argument],
    *,
    file: str,
    options: ReadOptions,
    launch: Launch | None = None,
    unresolved: tuple[Unresolved, ...] = (),
    problems: tuple[Diagnostic, ...] = (),
) -> Config:
    """The effective values of one launch."""
    version = DEFAULT_VERSION if options.megatron is None else normalise_version(options.megatron)
    known = with_declared(catalog(version), options.declared)
    parsed = parse(arguments, known, file)
    settings: dict[str, Setting] = {}
    for given in parsed.given.values():
        settings[given.dest] = Setting(
            given.dest,
            given.value,
            "explicit",
            given.span,
            given.raw,
            given.flag,
            acceptance="accepted" if given.fact is not None else "unknown",
            decided=given.decided,
        )
    settings = {**settings, **_defaults(known), **settings}  # what is given first, then what is left
    _settle_length(settings, options.steps)
    validated = validate(settings, version, file=file, options=options, launch=launch)
    settings, outside = with_overridable(validated.settings, file)
    if parsed.overridable is not None:
        settings = {
            key: entry if key in parsed.overridable else entry._replace(overridable=True)
            for key, entry in settings.items()
        }
    return Config(
        file,
        "megatron",
        version,
        "arguments",
        settings,
        launch,
        (),
        unresolved,
        problems + parsed.problems + outside + validated.problems,
    )


def _settle_length(settings: dict[str, Setting], steps: int | None) -> None:
    """`--steps` stands in for a run length that the launch leaves open; one that it states wins."""
    known = settings.get("train_iters")
    if steps is None or known is None or any(settings[name].value for name in _LENGTH if name in settings):
        return
    settings["train_iters"] = known._replace(value=steps, origin="derived", derived_from=("--steps",), decided=True)


_LENGTH = ("train_iters", "train_samples")
_known: list[tuple[Catalog, dict[str, Setting]]] = []


def _defaults(known: Catalog) -> dict[str, Setting]:
    """Every argument as it stands where nobody gives it: the same for all files of a version."""
    for kept, settings in _known:
        if kept is known:
            return settings
    settings = {dest: Setting(dest, fact.default, "default") for dest, fact in known.by_dest.items()}
    _known.insert(0, (known, settings))
    del _known[4:]
    return settings
