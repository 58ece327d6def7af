"""Runs the rules over one file or a pair and turns what they found into diagnostics.

Every rule is run by itself: one that crashes becomes a finding, and the others are still heard.
"""

from __future__ import annotations

from ..mapper.equality import WEIGHT_FOLDERS
from ..schemas.diagnostic import EFFECTS, Diagnostic, Kind, Related, deduplicate, diagnose
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple, named_module
from ..schemas.file_kind import SAID_FIRST, runs_inference, trains_gpt
from ..schemas.megatron.forks import fork_of, in_doubt
from ..schemas.message import Words, verbatim
from .adjustments import attribute_refusals, downgrade_inert_keys
from .catalog.defects import advisories
from .catalog_compiled import CHANGES, ROLES, YIELDS_TO
from .comparison import DIFFERENCES, differences
from .messages_compiled import say
from .places import places_of
from .registry import compared_fields, functions, inference_functions, rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ..schemas.diagnostic import Fix, Severity
    from ..schemas.source import Span
    from .rule import Found, Place, Rule
    from .subject import Side, Subject


class Selection(NamedTuple):
    """The rules that are enabled, and their severities, by code or by its first letters."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severities: Mapping[str, Severity] = {}

    def is_enabled(self, code: str) -> bool:
        """True if a code is reported, by the longest matching prefix."""
        if not self.select and not self.ignore:
            return True
        chosen = _match_length(self.select, code)
        if self.select and chosen < 0:
            return False
        dropped = _match_length(self.ignore, code)
        return dropped < 0 or chosen > dropped

    def severity(self, kind: Kind) -> Kind:
        """The kind with the severity that the configuration asks for."""
        wanted = self.severities.get(kind.code)
        if wanted is None or wanted == kind.severity:
            return kind
        return kind._replace(severity=wanted, effect=kind.effect or EFFECTS[kind.severity])


def _match_length(prefixes: Iterable[str], code: str) -> int:
    """Length of the longest prefix that fits a code; ALL fits every code, with length 0."""
    named = ["" if prefix == "ALL" else prefix for prefix in prefixes]
    return max((len(prefix) for prefix in named if code.startswith(prefix)), default=-1)


class Outcome(NamedTuple):
    """The findings of a run, and if a rule crashed."""

    diagnostics: tuple[Diagnostic, ...]
    crashed: bool = False


def check(subject: Subject, selection: Selection | None = None, more: Sequence[Rule] = ()) -> Outcome:
    """Every finding about the subject: the readers' problems first, then the rules'."""
    run = _Run(subject, selection or Selection())
    if run.all_rules(more):
        run.found = run.link()
    if subject.reread is not None and any(entry.kind.severity != "info" for entry in run.found):
        from .fixes import add_fixes

        def check_again(changed: Subject) -> Sequence[Diagnostic]:
            """What is found after a fix, without what follows from what."""
            again = _Run(changed, selection or Selection(), with_fixes=False)
            again.all_rules(more)
            return again.found

        run.found = add_fixes(subject, run.found, check_again)
    return Outcome(tuple(sorted(run.found, key=_sort_position)), run.crashed)


def crash_finding(rule: str, error: Exception, file: str) -> Diagnostic:
    """Finding for an internal error of a rule."""
    return diagnose(say.rule_crashed(rule=rule, why=verbatim(f"{type(error).__name__}: {error}")), file)


class _Run:
    def __init__(self, subject: Subject, selection: Selection, *, with_fixes: bool = True) -> None:
        self.subject = subject
        self.selection = selection
        self.with_fixes = with_fixes
        self.found: list[Diagnostic] = []
        self.crashed = False

    def problems(self) -> None:
        """Add the problems that the readers of the files found."""
        for side in self.subject.sides:
            self._problems_of(side)

    def _problems_of(self, side: Side) -> None:
        """Add the reader's problems of a side, with adapted severity and fixes."""
        for problem in side.config.problems:
            if self.selection.is_enabled(problem.kind.code):
                kind = problem.kind
                if self.subject.is_pair and kind.code in ROLES["validated-value"]:
                    kind = kind._replace(severity="info")
                if self.subject.is_pair and kind.code in ROLES["unknown-network"]:
                    kind = kind._replace(severity="error", effect="depends")
                kind = self.selection.severity(kind)
                problem = problem._replace(kind=kind)
                if self.with_fixes:
                    from .repairs import with_fix

                    problem = with_fix(problem, side)
                self.found.append(_where_it_stands(problem))

    def all_rules(self, more: Sequence[Rule]) -> bool:
        """Run every rule that applies and collect the findings; False if a file does not train a GPT model."""
        self.problems()
        # What else there is was said by the reader; inference has rules of its own.
        if not all(trains_gpt(side.config) for side in self.subject.sides):
            if all(runs_inference(side.config) for side in self.subject.sides):
                for entry in inference_functions(self.subject.profile):
                    if self.selection.is_enabled(entry.code):
                        self.function(entry, self.subject)
            return False
        self.rules(more)
        self.found = self.settle()
        return True

    def rules(self, more: Sequence[Rule]) -> None:
        """Run every enabled rule."""
        self.comparisons()
        subject = self.subject
        frameworks = frozenset(side.framework for side in subject.sides)
        for entry in (*functions(frameworks, subject.profile, is_pair=subject.is_pair), *more):
            if not self.selection.is_enabled(entry.code) or subject.profile not in entry.profiles:
                continue
            if entry.scope in frameworks and subject.is_pair and len(frameworks) == 1:
                for side in subject.sides:
                    self.function(entry, subject._replace(focus=side))
            else:
                self.function(entry, subject)
        self.advisories()

    def comparisons(self) -> None:
        """Fields that differ between the two files."""
        if self.subject.is_pair:
            self._add_all("comparison", self._differences())

    def _differences(self) -> Iterator[tuple[str, Found]]:
        """Findings of the field comparison, cached for other rules."""
        found: list[tuple[str, Found]] = []
        for one in differences(self.subject, compared_fields(self.subject.profile)):
            found.append(one)
            yield one
        self.subject.worked_out[DIFFERENCES] = found

    def advisories(self) -> None:
        """Known defects of the frameworks."""
        self._add_all("advisories", advisories(self.subject))

    def _add_all(self, what: str, found: Iterable[tuple[str, Found]]) -> None:
        """Add findings that bring their codes."""
        try:
            for code, one in found:
                if self.selection.is_enabled(code):
                    self._add(rule(code, self.subject.profile), one)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - a crash is a finding
            self._crash(what, error)

    def function(self, entry: Rule, subject: Subject) -> None:
        """Run a rule implemented as a function."""
        try:
            for found in _check_function(entry)(subject):
                self._add(entry, found)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - a crash is a finding
            self._crash(entry.code, error)

    def settle(self) -> list[Diagnostic]:
        """Findings without repetitions and with final severities."""
        found = _deduplicate(self.found)
        if self.subject.is_pair:
            found = downgrade_inert_keys(self.subject, found)
        return _doubt_forks(self.subject, found)

    def link(self) -> list[Diagnostic]:
        """Findings linked to those they follow from."""
        found = self.found
        if any(entry.kind.severity != "info" for entry in found):
            from .root_cause import group_by_root_cause

            if self.subject.is_pair:
                found = attribute_refusals(self.subject, found)
            found = group_by_root_cause(self.subject, found, self.selection.severities)
        return found

    def _crash(self, code: str, error: Exception) -> None:
        """Report an error inside a rule as a finding, with the traceback on stderr."""
        from ..schemas.border.text_output import tell_crash

        self.crashed = True
        tell_crash(error)
        side = self.subject.sides[-1]
        self.found.append(crash_finding(code, error, side.config.file))

    def _add(self, entry: Rule, found: Found) -> None:
        """Add a rule's finding as a diagnostic with places, notes and fixes."""
        if self.subject.profile not in entry.profiles:
            return
        side = self.subject.side(found.at.side)
        assert side is not None
        english, chinese = entry.messages[found.variant]
        severity = found.severity or entry.severity
        effect = ("numbers" if entry.scope == "pair" else entry.effect) if severity == "error" else ""
        kind = Kind(entry.code, entry.name, severity, english, chinese, entry.confidence, effect)
        kind = self.selection.severity(kind)
        file, span = self._where(found.at)
        related = tuple(
            Related(*self._where(note.at), note.en, note.zh, note.repeats)
            for note in found.notes
            if self.subject.side(note.at.side) is not None
        )
        self.found.append(
            Diagnostic(
                kind,
                file,
                span,
                tuple(found.values.items()),
                related,
                found.fields or entry.fields,
                *self._fixes(entry, found),
                changes=_effect_of_difference(entry.code, found),
                remedy=_instruction(entry, found, self.subject),
            )
        )

    def _fixes(self, entry: Rule, found: Found) -> tuple[Fix | None, tuple[Fix, ...]]:
        """Fix and alternatives; a difference is fixed in side b."""
        repairs = [one for one in (found.repair, *found.alternatives) if one is not None]
        if not repairs or not self.with_fixes:
            return None, ()
        from .repairs import fix_of

        changed_file = self.subject.sides[self.subject.fix_side].source.name
        chosen: Fix | None = None
        others: list[Fix] = []
        for repair in repairs:
            fix = fix_of(repair, self.subject)
            if fix is None:
                continue
            changed = {edit.file for edit in fix.edits}
            if chosen is None and (entry.scope != "pair" or changed == {changed_file}):
                chosen = fix
            else:
                others.append(fix)
        return chosen, tuple(others)

    def _where(self, place: Place) -> tuple[str, Span | None]:
        side = self.subject.side(place.side)
        assert side is not None
        return _in_its_file(side.config.file, places_of(side).span(place))


def _effect_of_difference(code: str, found: Found) -> Words | None:
    """Text on a difference's effect; None if the message includes it."""
    effects = CHANGES.get(code)
    if effects is None or found.variant in _EFFECT_IN_MESSAGE:
        return None
    for name in (found.variant, *found.fields[:1]):
        if name and name in effects:
            return effects[name] and Words(*effects[name])
    return Words(*effects[""])


def _instruction(entry: Rule, found: Found, subject: Subject) -> Words | None:
    """The instruction for a difference without a fix."""
    if entry.code not in CHANGES or "label" not in found.values:
        return None
    if found.variant.startswith("elsewhere"):
        return say.check_that_equal()
    if found.fields[:1] and found.fields[0] in WEIGHT_FOLDERS and subject.of_two_frameworks:
        return say.check_same_weights()
    is_computed = bool(found.fields) and found.fields[0].startswith("computed.")
    return say.make_computed_equal() if is_computed else say.make_equal()


_EFFECT_IN_MESSAGE = ("depends", "alike", "idle")
"""Variants whose message tells the effect on the run."""


def _in_its_file(file: str, span: Span | None) -> tuple[str, Span | None]:
    """File and span of a place that may lie in another file read."""
    if span is not None and span.file is not None:
        return span.file, span._replace(file=None)
    return file, span


def _where_it_stands(problem: Diagnostic) -> Diagnostic:
    """Problem with the file in which its line is."""
    file, span = _in_its_file(problem.file, problem.span)
    related = tuple(Related(*_in_its_file(one.file, one.span), *one[2:]) for one in problem.related)
    return problem._replace(file=file, span=span, related=related)


_functions: dict[str, Callable[[Subject], Iterable[Found]]] = {}


def _check_function(entry: Rule) -> Callable[[Subject], Iterable[Found]]:
    """Function of a rule, loaded by its name on first use."""
    if not isinstance(entry.check, str):
        return entry.check
    found = _functions.get(entry.check)
    if found is None:
        module, _, name = entry.check.partition(":")
        found = _functions[entry.check] = getattr(named_module(f"catalog.{module}", __package__), name)
    return found


def _sort_position(diagnostic: Diagnostic) -> tuple[str, bool, int, int, str]:
    span = diagnostic.span
    later = diagnostic.kind.code not in SAID_FIRST
    return diagnostic.file, later, span.line if span else 0, span.column if span else 0, diagnostic.kind.code


def _doubt_forks(subject: Subject, found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Findings with refusals lowered for fork programs, which may accept them."""
    scripts = [side for side in subject.sides if side.framework == "megatron"]
    if len(scripts) < 2:
        return list(_doubt_fork(scripts[0], found) if scripts else found)
    first, second = scripts
    of_second = second.config.file  # what stands in neither file is told of the first
    return [
        *_doubt_fork(first, [one for one in found if one.file != of_second]),
        *_doubt_fork(second, [one for one in found if one.file == of_second]),
    ]


def _doubt_fork(side: Side, found: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Findings about one fork's script and its partner, lowered as far as the fork may differ."""
    return in_doubt(found, fork_of(side.config), side.config.problems, lambda: _files_of_megatron(side))


def _files_of_megatron(side: Side) -> frozenset[str]:
    """Files that the launch reads, the script included."""
    launch = side.config.launch
    spans = [setting.span for setting in side.config.settings.values()]
    spans += [] if launch is None else [launch.span, *(word.span for word in launch.arguments)]
    return frozenset((side.config.file, *(span.file for span in spans if span is not None and span.file is not None)))


def _deduplicate(found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Findings without repetitions, the most informative at each place."""
    known = {(entry.kind.code, entry.file, entry.span) for entry in found}
    return deduplicate(
        entry for entry in found if (YIELDS_TO.get(entry.kind.code), entry.file, entry.span) not in known
    )
