"""A pair: one recipe written for both frameworks, equal by construction, and the README that says how to launch it."""

from __future__ import annotations

import os
from functools import cache

from ...mappings.keys_compiled import OUTPUT, STOPS_WITHOUT_CHECKPOINT
from ...schemas.border.file_input import package_text
from ...schemas.border.text_output import markdown, markdown_code
from ...schemas.compilers.tables import load_table
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.file_kind import require_training
from ...schemas.plain_values import json_value
from ..computed.quantities import computed_quantities
from ..recipe.reading import recipe_of
from ..recipe.vocabulary import COMPUTED
from ..translate.megatron_file import devices_of, megatron_text
from ..translate.messages_compiled import say
from ..translate.mindformers_file import mindformers_text
from ..translate.read_back import read_back
from ..translate.result import TargetSetting, Translation, summary, versions_of_proofs
from ..translate.translation import translate_recipe
from .ladder import (
    CHECKPOINTS,
    LOADED,
    Alignment,
    Change,
    align,
    alignment_table,
    experiment,
    recipe_read_back,
    settle_open_fields,
    with_paths,
    with_placeholder_text,
    without_losses,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Config, Value
    from ...schemas.diagnostic import Language
    from ..recipe.values import Recipe
    from ..translate.result import ReportRow

SCRIPT = "example.sh"
CONFIGURATION = "example.yaml"
INITIAL = "example_init_weights.yaml"


class Pair(NamedTuple):
    """Both files as translations, what was changed before writing them, and what could not be carried over."""

    megatron: Translation
    mindformers: Translation
    changes: tuple[Change, ...]
    rows: tuple[ReportRow, ...]
    """The translation's report, and what the rewritten source itself lost."""
    alignment: Alignment | None
    source: str
    initial: Translation | None = None

    @property
    def devices(self) -> int:
        """The number of devices that each side needs."""
        return devices_of(self.mindformers.recipe)

    def texts(self, *, comments: bool = True, language: Language = "en") -> dict[str, str]:
        """The configuration files by name, their comments in a language."""
        changed = {change.field for change in self.changes}
        script, configuration = (_add_notes(one, changed, language) for one in (self.megatron, self.mindformers))
        found = {
            SCRIPT: megatron_text(script, comments=comments, language=language),
            CONFIGURATION: mindformers_text(configuration, comments=comments, language=language),
        }
        if self.initial is not None:
            initial = _add_notes(self.initial, changed, language)
            found[INITIAL] = mindformers_text(initial, comments=comments, language=language)
        return found

    def to_json(self, language: Language = "en") -> dict[str, object]:
        """The contract's `pair`, without the files."""
        megatron, mindformers = self.megatron, self.mindformers
        proved = versions_of_proofs((megatron.version, megatron.dialect), (mindformers.version, mindformers.dialect))
        found: dict[str, object] = {
            "source": self.source,
            "target": ", ".join(
                f"{side.target_framework} {side.version} ({side.dialect})" for side in (megatron, mindformers)
            ),
            "versions": [entry for side in (megatron, mindformers) for entry in side.versions(language)[-1:]],
            "rows": [row.to_json(language, proved) for row in self.rows],
            "summary": summary(self.rows),
            "changes": [change.to_json(language) for change in self.changes],
            "read_back": {
                SCRIPT: megatron.read_back_summary.to_json(),
                CONFIGURATION: mindformers.read_back_summary.to_json(),
            },
        }
        if self.alignment is not None:
            found["step"] = {
                "number": self.alignment.number,
                "name": self.alignment.step.name,
                "returned": list(self.alignment.returned),
            }
            found["environment"] = dict(self.alignment.environment)
        return found


def pair_of(
    config: Config,
    *,
    megatron: str | None = None,
    mindformers: str | None = None,
    dialect: str | None = None,
    step: int | None = None,
    initial_weights: bool = False,
    trial: str | None = None,
) -> Pair:
    """Pair of files for one configuration; `step` is the ladder's rung, None for the run as it is.

    `trial` names an experiment of the guide, whose settings go on top.
    """
    require_training(config)
    versions = (megatron, mindformers, dialect)
    made = _make_pair(config, versions, step, initial_weights, trial)
    if made.megatron.unsaid or made.mindformers.unsaid:
        # A setting that the source decides follows from what stands in for an open one: then that stays open.
        made = _make_pair(config, versions, step, initial_weights, trial, settle=False)
    return made


def _make_pair(
    config: Config,
    versions: tuple[str | None, str | None, str | None],
    step: int | None,
    initial_weights: bool,
    trial: str | None,
    *,
    settle: bool = True,
) -> Pair:
    """Pair of files translated from one configuration, after simplification and reading both back."""
    megatron, mindformers, dialect = versions

    def to_script(of: Recipe) -> Translation:
        return _refuse_random_weights(translate_recipe(of, config, "megatron", megatron))

    def to_yaml(of: Recipe) -> Translation:
        return translate_recipe(of, config, "mindformers", mindformers, dialect)

    ways = (to_yaml, to_script) if config.framework == "megatron" else (to_script, to_yaml)
    source, given = with_paths(recipe_of(config))
    asking: tuple[ReportRow, ...] = ()
    if settle and step is not None and step < _last_step():
        source, settling, asking = settle_open_fields(source, *ways)
        given += settling
    recipe, changes, alignment = _recipe_of_step(source, given, step, trial)
    if alignment is not None:
        recipe, changes, alignment = _leave_out_losses(recipe, changes, alignment, ways)
    there, here = ways
    along = read_back(here(recipe), config)
    described = along.written or config
    if changes and along.written is not None:
        recipe = _add_computed_quantities(recipe, along.written, None if settle else source)
    across = read_back(there(recipe), described, along.rows)
    script, configuration = (along, across) if config.framework == "megatron" else (across, along)
    return Pair(
        script,
        configuration,
        changes,
        (*_rows_with_questions(asking, recipe, across.rows), *_own_losses(along, across.rows)),
        alignment,
        config.file,
        _initial_weights(configuration) if initial_weights else None,
    )


def _last_step() -> int:
    """Number of the last rung, which is the source's own run."""
    return len(alignment_table().steps) - 1


def _leave_out_losses(
    recipe: Recipe,
    changes: tuple[Change, ...],
    alignment: Alignment,
    ways: tuple[Callable[[Recipe], Translation], Callable[[Recipe], Translation]],
) -> tuple[Recipe, tuple[Change, ...], Alignment]:
    """Recipe of a rung without what only one framework does; the last rung keeps it, and names it as returned."""
    neutral, further = without_losses(recipe, *ways)
    if alignment.number < _last_step():
        return neutral, _merge_changes(changes, further), alignment
    back = (*alignment.returned, *(change.field for change in further))
    return recipe, changes, alignment._replace(returned=tuple(dict.fromkeys(back))) if further else alignment


def _add_computed_quantities(recipe: Recipe, written: Config, source: Recipe | None) -> Recipe:
    """Recipe with the quantities computed from a written file; with a source, only those that it leaves no doubt about.

    A quantity that an open setting leaves open in the source is not what the written default makes of it.
    """
    found = computed_quantities(written).items()
    known = {name: entry for name, entry in found if source is None or _is_known(source, name)}
    return recipe._replace(fields={**recipe.fields, **known})


def _is_known(recipe: Recipe, name: FieldName) -> bool:
    """True unless the recipe leaves a field undecided."""
    entry = recipe.fields.get(name)
    return entry is None or entry.decided


def _refuse_random_weights(script: Translation) -> Translation:
    """Script that stops if its checkpoint folder is empty, unless the source names the checkpoint itself."""
    if script.recipe.value(LOADED) != f"{CHECKPOINTS}/megatron":
        return script
    stops = TargetSetting(STOPS_WITHOUT_CHECKPOINT, True, ("checkpoint.load_path",), True, ())
    return script._replace(settings=(*script.settings, stops))


def _recipe_of_step(
    source: Recipe, given: tuple[Change, ...], step: int | None, trial: str | None
) -> tuple[Recipe, tuple[Change, ...], Alignment | None]:
    """Recipe of a rung and an experiment, and the changes from the file."""
    recipe, changes = source, given
    alignment = None if step is None else align(recipe, step)
    if alignment is not None:
        recipe, changes = alignment.recipe, _merge_changes(changes, alignment.changes)
    # Behind the rung, which takes mock data away.
    loads = bool(source.value(LOADED)) and all(change.field != LOADED for change in given)
    recipe, further = with_paths(recipe, cut=loads)
    changes = _merge_changes(changes, further)
    if trial is not None:
        recipe, further = experiment(recipe, trial)
        changes = _merge_changes(changes, further)
    return _drop_computed(recipe) if changes else recipe, changes, alignment


def _rows_with_questions(
    asking: tuple[ReportRow, ...], recipe: Recipe, rows: Iterable[ReportRow]
) -> Iterable[ReportRow]:
    """Report rows in which rows that ask for a value replace those on its placeholder."""
    asked = {row.field for row in asking}
    return *(with_placeholder_text(row, recipe) for row in asking), *(row for row in rows if row.field not in asked)


def _drop_computed(recipe: Recipe) -> Recipe:
    """Recipe without quantities computed from the file, which a changed recipe no longer has."""
    fields = {name: entry for name, entry in recipe.fields.items() if not name.startswith(COMPUTED)}
    return recipe._replace(fields=fields)


def _merge_changes(first: tuple[Change, ...], then: tuple[Change, ...]) -> tuple[Change, ...]:
    """One change for each field, from the first value to the last."""
    before = {change.field: change.before for change in first}
    later: set[str] = {change.field for change in then}
    joined = [change for change in first if change.field not in later]
    for change in then:
        whole = change._replace(before=before.get(change.field, change.before))
        if whole.before != whole.after:
            joined.append(whole)
    return tuple(joined)


def _add_notes(translation: Translation, changed: set[str], language: Language) -> Translation:
    """Translation with comments for a reader of the pair: names on the other side, and changes."""
    same = translation.source_framework == translation.target_framework

    def note(setting: TargetSetting) -> tuple[str, ...]:
        names = () if same else setting.notes
        return (say.aligned().text(language), *names) if changed & set(setting.fields) else names

    return translation._replace(
        settings=tuple(setting._replace(notes=note(setting)) for setting in translation.settings)
    )


def _own_losses(along: Translation, across: Iterable[ReportRow]) -> Iterable[ReportRow]:
    """Report rows on values that the source's own framework lost in writing, if the other side did not."""
    known: set[tuple[str | None, tuple[str, ...]]] = {
        (row.field, row.source) for row in across if row.status not in ("exact", "made-explicit")
    }
    lost = [row for row in along.rows if row.status in ("dropped", "unresolved", "approximate")]
    lost = [row for row in lost if (row.field, row.source) not in known]
    if any(not row.explicit for row in lost):
        # A default needs no words of its own to come back: Megatron-LM has no flag for a plain GELU.
        back = recipe_read_back(along)
        lost = [row for row in lost if row.explicit or row.field is None or back.value(row.field) != row.value]
    return lost


def _initial_weights(translation: Translation) -> Translation:
    """YAML that saves the initial weights as a checkpoint and stops after the first step."""
    family = "model" if translation.family is None else translation.family.family.name
    wanted = alignment_table().initial_weights[translation.dialect]
    settings = [setting for setting in translation.settings if setting.key not in wanted]
    for key, value in wanted.items():
        filled = family if value == "{family}" else value
        settings.append(TargetSetting(key, filled, (), True, ()))
    return translation._replace(settings=tuple(settings))


FILES: dict[Language, str] = {"en": "README.md", "zh": "README.zh-CN.md"}
DEVICES_PER_NODE = 8


def readme(pair: Pair, language: Language) -> str:
    """Readme of the pair in one language."""
    return "\n".join(_Readme(pair, language).lines()) + "\n"


class _Readme:
    def __init__(self, pair: Pair, language: Language) -> None:
        self.pair = pair
        self.language: Language = language
        self.words = _readme_words()
        self.nodes = max(1, -(-pair.devices // DEVICES_PER_NODE)) if pair.devices % DEVICES_PER_NODE == 0 else 1

    def lines(self) -> Iterator[str]:
        """All lines of the readme."""
        yield from self._head()
        yield from self._launch()
        yield from self._compare()
        yield from self._weights()
        yield from self._report()
        if self.pair.alignment is not None:
            yield from self._ladder()

    def _say(self, name: str, /, **values: object) -> str:
        return self._fill(self.words[name], **values)

    def _fill(self, words: dict[str, str], **values: object) -> str:
        return words[self.language].format_map({**_NAMES, **values})

    def _head(self) -> Iterator[str]:
        """Title and introduction, with the alignment step."""
        pair = self.pair
        yield self._say("title", megatron=pair.megatron.version, mindformers=pair.mindformers.version)
        yield ""
        yield self._say("intro", source=markdown_code(pair.source.rsplit("/", 1)[-1]))
        if pair.alignment is not None:
            number, last = pair.alignment.number, len(alignment_table().steps) - 1
            step = pair.alignment.step
            yield ""
            if number == last:
                yield self._say("last")
            else:
                values = {"number": number, "last": last, "name": step.name, "next": number + 1}
                yield self._say("aligned", text=step.text(self.language), **values)

    def _launch(self) -> Iterator[str]:
        """Lines on launching both runs."""
        nodes = "" if self.nodes == 1 else self._say("nodes", nodes=self.nodes)
        yield from ("", self._say("launch"), "", self._say("megatron", nodes=nodes), "", "```bash")
        yield f"bash /path/to/{SCRIPT} 2>&1 | tee megatron.log"
        yield from ("```", "", self._say("mindformers", nodes=nodes), "", "```bash")
        yield from self._exports()
        yield self._msrun(CONFIGURATION)
        yield from ("```", "", self._say("logs"))
        if self.pair.megatron.recipe.value("run.deterministic"):
            yield from ("", self._say("seeds"))
        if self.pair.mindformers.recipe.value("gradient.local_norm"):
            yield from ("", self._say("norms"))

    def _exports(self) -> Iterator[str]:
        """Shell lines that set the environment variables of the alignment."""
        alignment = self.pair.alignment
        if alignment is None:
            return
        for name, value in alignment.environment.items():
            yield f"export {name}={value}"

    def _msrun(self, file: str) -> str:
        """The command that starts the MindSpore Transformers side."""
        mode = " --mode 1" if self.pair.mindformers.dialect == "dynamic" else ""
        started = f'bash scripts/msrun_launcher.sh "run_mindformer.py --config /path/to/{file}{mode}"'
        if self.nodes == 1:
            return f"{started} {self.pair.devices}"
        last = "$MASTER_ADDR 8118 $NODE_RANK output/msrun_log False 7200"
        return f"{started} {self.pair.devices} {DEVICES_PER_NODE} {last}"

    def _compare(self) -> Iterator[str]:
        """Lines on comparing the two logs."""
        recipe = self.pair.mindformers.recipe
        steps = recipe.value("run.train_steps")
        shown = f"; steps_per_epoch = {steps}" if isinstance(steps, int) else ""
        parts = [
            self._fill(self.words["loss_parts"][name])
            for name, used in (("moe", recipe.value("moe.num_experts")), ("mtp", recipe.value("mtp.num_layers")))
            if used
        ]
        named = self._say("and").join(parts or [self._fill(self.words["loss_parts"]["moe"])])
        yield from ("", self._say("compare"), "")
        for row in self.words["compare_rows"][self.pair.mindformers.dialect]:
            yield self._fill(row, steps=shown, parts=named)
        yield ""
        yield from (self._fill(line) for line in self.words["order"])

    def _weights(self) -> Iterator[str]:
        """Lines on using equal initial weights."""
        settings = {setting.key: setting.value for setting in self.pair.mindformers.settings}
        folder = settings.get(OUTPUT[self.pair.mindformers.dialect], "./output")
        made, hint, *rest = self.words["weights_steps"]
        yield from ("", self._say("weights"), "", self._say("weights_text"), "")
        first = hint if self.pair.initial is None else made
        yield self._fill(first, output=markdown_code(f"{str(folder).rstrip('/')}/checkpoint"))
        sides = (self.pair.megatron, self.pair.mindformers)
        megatron, mindformers = (str(side.recipe.value(LOADED)) for side in sides)
        convert = "accmap weights convert"
        words = {
            "megatron_weights": megatron,
            "mindformers_weights": mindformers,
            "to_megatron": f"{convert} {mindformers} --to megatron -o {megatron} --config {SCRIPT}",
            "to_mindformers": f"{convert} {megatron} --to mindformers -o {mindformers} --config {CONFIGURATION}",
        }
        coded = {name: markdown_code(text) for name, text in words.items()}
        yield from (self._fill(line, **coded) for line in rest)
        if self.pair.initial is not None:
            yield from ("", "```bash", self._msrun(INITIAL), "```")

    def _report(self) -> Iterator[str]:
        """Lines on values to fill in, on changes and on remaining differences."""
        unresolved = [row for row in self.pair.rows if row.status == "unresolved"]
        if unresolved:
            yield from ("", self._say("fill"), "")
            yield from (self._row(row) for row in unresolved)
        if self.pair.changes:
            yield from ("", self._say("changed"), "", self._say("changed_head"), "| --- | --- | --- | --- |")
            for change in self.pair.changes:
                before, after = _table_cell(change.before), _table_cell(change.after)
                yield f"| `{change.field}` | {before} | {after} | {change.reason(self.language)} |"
        differing = [
            row for row in self.pair.rows if row.impact == "numerics" and row.status in ("dropped", "approximate")
        ]
        yield from ("", self._say("differs"), "")
        if not differing:
            yield self._say("nothing")
        yield from (self._row(row) for row in differing)

    def _row(self, row: ReportRow) -> str:
        named = ", ".join(map(markdown_code, row.source)) or markdown_code(row.field or "-")
        return f"- {named}: {markdown(row.zh if self.language == 'zh' else row.en)}"

    def _ladder(self) -> Iterator[str]:
        """List of the ladder's steps."""
        yield from ("", self._say("ladder"), "")
        for number, step in enumerate(alignment_table().steps):
            yield f"{number}. `{step.name}`: {step.text(self.language)}"


_NAMES = {"script": SCRIPT, "yaml": CONFIGURATION, "initial": INITIAL}


@cache
def _readme_words() -> Any:
    return load_table(package_text(os.path.dirname(__file__), "readme.yaml"))


def _table_cell(value: Value) -> str:
    shown = json_value(value)
    if shown is None:
        return "-"
    if isinstance(shown, bool):
        shown = str(shown).lower()
    return markdown_code(str(shown))
