"""`accmap pair SRC -d DIR`: a launch script and a YAML that describe the same run, with a README for both launches."""

from __future__ import annotations

import json
import os

from ...mapper.align.ladder import steps
from ...mapper.align.pair import FILES, pair_of, readme
from ...mapper.preconditions import refusals_of_text, require_accepted
from ...mapper.translate.read_back import require_said
from ...schemas.border.file_output import write_folder
from ...schemas.border.text_output import emit, json_text, paint, say, tell
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.file_kind import require_training
from ...schemas.plain_values import json_value
from ..argument_parser import UsageError
from ..exit_codes import BAD, UNUSABLE
from ..inputs import load, target_for
from ..messages_compiled import say as usage
from ..reference.known_defects import defects_of_written
from ..terminal import wants_colour
from .loss_report import accepted_losses, close_report, print_problems, print_refusals, print_report

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ...mapper.align.pair import Pair
    from ...mapper.preconditions import Refusal
    from ...schemas.diagnostic import Diagnostic, Language
    from ..arguments_compiled import PairArgs


def run(args: PairArgs) -> int:
    """Write the pair; nothing is written where one of its files may not be."""
    if args.directory is None:
        raise UsageError(usage.pair_needs_the_directory_to())
    _check_step(args.step)
    accepted = accepted_losses(args.files[0], args.accept_loss, args.lang)
    config = load(args.files[0], args.reading, args.stdin_filename, model=True)
    require_training(config)
    require_accepted(config)
    target = target_for(config, args.reading)
    pair = pair_of(
        config,
        megatron=args.reading.megatron,
        mindformers=target.options.mindformers,
        dialect=target.options.dialect,
        step=0 if args.step is None and args.align else args.step,
        initial_weights=args.init_weights,
        trial=args.experiment,
    )
    pair = pair._replace(mindformers=target.name_choice(pair.mindformers))
    texts = pair.texts(comments=not args.no_comments, language=args.lang)
    texts.update({name: readme(pair, language) for language, name in FILES.items()})
    written = {os.path.join(args.directory, name): text for name, text in texts.items()}
    sides = {"example.sh": pair.megatron, "example.yaml": pair.mindformers}
    stops = {name: refusals_of_text(side, texts[name]) for name, side in sides.items()}
    if _is_sure_to_stop(stops) and not args.write_anyway:
        _print_stops(stops, args.lang)
        tell(usage.not_written().text(args.lang))
        return UNUSABLE
    if not args.no_read_back:  # a file that stops has been refused above: what it holds cannot be read back whole
        require_said(pair.megatron, pair.mindformers)
    defects = defects_of_written({name: side.written for name, side in sides.items()})
    write_folder(args.directory, written, force=args.force)
    if args.format == "json":
        told = {"files": list(written), **_stops_and_defects(stops, defects, args.lang)}
        emit(json_text({**pair.to_json(args.lang), **told}))
    else:
        _print_pair(pair, args.lang)
        _print_stops(stops, args.lang)
        print_problems(config, args.lang)
        print_report(pair.mindformers._replace(rows=pair.rows, source=pair.source), args.lang)
    code = close_report(pair.rows, accepted, args.lang, defects=defects)
    return BAD if any(stops.values()) or config.purpose is not None else code


def _is_sure_to_stop(stops: Mapping[str, Sequence[Refusal]]) -> bool:
    return any(one.certain for found in stops.values() for one in found)


def _print_stops(stops: Mapping[str, Sequence[Refusal]], language: Language) -> None:
    for name, found in stops.items():
        print_refusals(name, found, language)


def _stops_and_defects(
    stops: Mapping[str, Sequence[Refusal]], defects: Sequence[Diagnostic], language: Language
) -> dict[str, Any]:
    """JSON members for the reasons that stop each file, and for the known defects of the pair."""
    failing = [{"file": name, **stop.to_json(language)} for name, found in stops.items() for stop in found]
    return {"will_not_run": failing, "defects": [one.to_json(language) for one in defects]}


def _check_step(step: int | None) -> None:
    last = len(steps()) - 1
    if step is not None and not 0 <= step <= last:
        raise UsageError(usage.step_takes_0_to_not(last=last, step=step))


def _print_pair(pair: Pair, language: Language) -> None:
    """Print the step of the alignment with the fields it restores, and each change with both values and its reason."""
    colour, word = wants_colour(), usage.page("pair", language)
    if pair.alignment is not None:
        number, step = pair.alignment.number, pair.alignment.step
        line = word("step", number=number, last=len(steps()) - 1, name=step.name, text=step.text(language))
        say(paint(line, "bold", colour))
        for field in pair.alignment.returned:
            say(f"  + {field}")
        if number and not pair.alignment.returned:
            say(f"  {word('same')}")
    for change in pair.changes:
        before, after = (json.dumps(json_value(value), ensure_ascii=False) for value in (change.before, change.after))
        say(f"  {change.field}  {before} -> {after}  {paint(change.reason(language), 'dim', colour)}")
