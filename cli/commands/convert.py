"""`accmap convert SRC`: the other framework's configuration, and a report of what could not be carried over."""

from __future__ import annotations

import os

from ...mapper.preconditions import OF_NETWORK, network_refusals, refusals_of_text, require_accepted
from ...mapper.translate.read_back import require_said, text_of
from ...mapper.translate.translation import translate_as_asked
from ...schemas.border.file_output import one_file, rewrite, write_texts
from ...schemas.border.text_output import emit, json_text, tell, trust_text
from ...schemas.config import explicit_of
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.file_kind import require_training
from ...schemas.huggingface.model_config import FILE
from ...schemas.plain_values import plain
from ...schemas.reader import check_versions
from ...schemas.shared_words import join_words
from ..argument_parser import UsageError
from ..exit_codes import BAD, UNUSABLE
from ..inputs import load, open_input, read_input, require_run, target_for, target_like
from ..messages_compiled import say
from ..reference.known_defects import defects_of_written
from .loss_report import accepted_losses, close_report, print_problems, print_refusals, print_report

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...mapper.preconditions import Refusal
    from ...mapper.translate.result import Translation
    from ...mapper.translate.update import Updated
    from ...schemas.border.text_output import Outgoing
    from ...schemas.config import Config, ReadOptions
    from ...schemas.diagnostic import Diagnostic, Language
    from ...schemas.message import Words
    from ..arguments_compiled import ConvertArgs


def run(args: ConvertArgs) -> int:
    """Write the translation; 1 where something that changes numbers is lost, 2 where it cannot run."""
    _require_places(args)
    accepted = accepted_losses(args.files[0], args.accept_loss, args.lang)
    config = _load_source(args)
    require_training(config)
    model_alone = _asks_for_model_alone(config, args)
    require_accepted(config, OF_NETWORK if model_alone else None)
    target = args.output or args.update
    existing = None if args.update is None else _ExistingFile(args.update, args.reading, only_shows=args.diff)
    if model_alone:
        translation, text = _translate_model(config, args)
        stops = network_refusals(config)
        target = target or FILE
    else:
        if args.base is not None:
            config, translation, text = _translate_onto_base(config, args.base, args)
        elif existing is not None:
            translation, text = _bring_up_to_date(existing, config, args)
        else:
            translation = _translate(config, args, None)
            text = text_of(translation, comments=not args.no_comments, language=args.lang)
        stops = refusals_of_text(translation, text)
    name = target or translation.source
    print_refusals(name, stops, args.lang)
    if any(one.certain for one in stops) and not args.write_anyway:
        tell(say.not_written().text(args.lang))
        return UNUSABLE
    written = None if model_alone else translation.written
    defects = defects_of_written({name: written}, config)
    new_files: dict[str, str] = {}
    if args.output is not None:
        new_files[args.output] = text
    if args.report is not None:
        new_files[args.report] = _report_text(translation, stops, defects, args.lang)
    write_texts(new_files, force=args.force)
    if existing is not None:
        _write_update(existing, text, args)
    elif args.output is None:
        emit(trust_text(text))
    print_problems(config, args.lang, of_run=not model_alone)
    print_report(translation, args.lang)
    code = close_report(translation.rows, accepted, args.lang, defects=defects, strict=args.strict)
    return BAD if stops or config.purpose is not None else code


def _write_update(existing: _ExistingFile, text: str, args: ConvertArgs) -> None:
    """The changed file, or with `--diff` its changes on stdout."""
    if not args.diff:
        rewrite(existing.source, text)
        return
    from ..linting.file_edits import difference

    emit(difference(existing.path, existing.source.text, text))


def _load_source(args: ConvertArgs) -> Config:
    """The source, read with its own version: `--mindformers` and `--dialect` are the target's if both are YAMLs."""
    name, reading = args.files[0], args.reading
    if args.to == "mindformers":
        reading = reading._replace(mindformers=None, dialect=None)
    config = load(name, reading, args.stdin_filename, model=True)
    if args.from_version is None:
        return config
    reading = reading._replace(**{config.framework.replace("huggingface", "transformers"): args.from_version})
    return load(name, check_versions(reading, "--from-version"), args.stdin_filename, model=True)


def _asks_for_model_alone(config: Config, args: ConvertArgs) -> bool:
    """True for a model's `config.json`, which is asked for by the framework's name, or by the name of the file."""
    if config.framework == "huggingface" and args.to is None:
        raise UsageError(say.which_framework())
    return args.to == "huggingface" or (args.to is None and os.path.basename(args.output or "") == FILE)


def _translate_model(config: Config, args: ConvertArgs) -> tuple[Translation, str]:
    """The `config.json` of a run's network."""
    from ...mapper.translate.model_file import model_file

    if any((args.update, args.base, args.no_read_back, args.no_comments)) or config.framework == "huggingface":
        raise UsageError(say.a_model_is_written_alone())
    made = model_file(config)
    return made.translation, json_text(made.keys, 2)


def _report_text(
    translation: Translation, stops: Sequence[Refusal], defects: Sequence[Diagnostic], language: Language
) -> Outgoing:
    """The loss report as JSON, with what stops the written file; a source that stops is not translated."""
    told = {
        "will_not_run": [stop.to_json(language) for stop in stops],
        "defects": [one.to_json(language) for one in defects],
    }
    return json_text({**translation.to_json(language), **told}, 2)


def _require_places(args: ConvertArgs) -> None:
    """Raise a UsageError for output options that contradict each other, or name one file twice."""
    if args.base is not None and args.update is not None:
        raise UsageError(say.base_is_not_changed())
    if args.output is not None and args.update is not None:
        raise UsageError(say.output_writes_a_new_file())
    if args.diff and args.update is None:
        raise UsageError(say.diff_shows_an_update())
    if args.report is not None and args.output == args.report:
        raise one_file(args.report, args.report)


def _translate(config: Config, args: ConvertArgs, existing: _ExistingFile | None) -> Translation:
    """The translation; a file that is to be updated decides what is left open.

    Unless `--no-read-back` is given, what is written has to be what the report says, read back.
    """
    if existing is None:
        target, family = target_for(config, args.reading), None
    else:
        target, family = target_like(existing.config, args.reading), existing.family
    translation = target.name_choice(translate_as_asked(config, target.options, args.to, family))
    if not args.no_read_back:
        require_said(translation)
    return translation


def _bring_up_to_date(existing: _ExistingFile, config: Config, args: ConvertArgs) -> tuple[Translation, str]:
    """The translation and the text of a file that is brought to the translated run."""
    translation = _translate(config, args, existing)
    found = existing.bring_to(translation, args.lang)
    return translation._replace(written=found.config, rows=found.rows), found.text


def _translate_onto_base(model: Config, base: str, args: ConvertArgs) -> tuple[Config, Translation, str]:
    """The run of another file with the model of this one; a file of the target's framework keeps its own text."""
    from ...mapper.recipe.reading import recipe_of
    from ...mapper.translate.model_file import with_model
    from ...mapper.translate.read_back import read_back
    from ...mapper.translate.translation import translate_recipe
    from ...mapper.translate.update import update
    from ...schemas.config import partner
    from ...schemas.reader import config_of

    if model.framework != "huggingface":
        raise UsageError(say.base_is_for_a_model())
    source, options = open_input(base, args.reading)
    config = require_run(config_of(source, options, path=base))
    require_training(config)
    require_accepted(config)
    recipe = with_model(recipe_of(config), recipe_of(model))
    target = target_like(config, options) if args.to == config.framework else target_for(config, options)
    version = target.options.version(args.to or partner(config.framework))
    if args.to == config.framework:
        version = version or config.framework_version
    made = translate_recipe(recipe, config, args.to, version, target.options.dialect)._replace(model=model.file)
    translation = read_back(target.name_choice(made), config)
    if not args.no_read_back:
        require_said(translation)
    if args.to != config.framework:
        return config, translation, text_of(translation, comments=not args.no_comments, language=args.lang)
    found = update(source.text, translation, config, options)
    _tell_refused_changes(base, found, args.lang)
    return config, translation._replace(written=found.config, rows=found.rows), found.text


def _tell_refused_changes(path: str, found: Updated, language: Language) -> None:
    """Say on stderr what was not brought about or came out otherwise; a loss is said by its row of the report."""
    lost = {row.field for row in found.rows if row.changes_numbers}
    for refusal in found.refused + found.remarks:
        if refusal.field is None or refusal.field not in lost:
            tell(f"{path}: {', '.join(refusal.keys) or refusal.field}: {refusal.reason(language)}")


def _written_values(config: Config) -> dict[str, str]:
    """The keys that a file writes, as it spells them, with their values; of a section with two names the shorter."""
    written = explicit_of(config.settings)
    names = {one.span: one.key for one in sorted(written, key=lambda one: -len(one.key))}
    found: dict[str, list[str]] = {}
    for one in written:
        if one.span is None or names[one.span] == one.key:
            key = one.key.rpartition("[")[0] if one.key.endswith("]") else one.key
            found.setdefault(one.flag or key, []).append(plain(one.value) or "''")
    return {key: ", ".join(values) for key, values in found.items()}


class _ExistingFile:
    """A file that is there already and is brought to the translated run."""

    def __init__(self, path: str, options: ReadOptions, *, only_shows: bool) -> None:
        from ...schemas.reader import config_of

        self.only_shows = only_shows
        self.path = path
        self.options = options
        self.source = read_input(path, None)
        self.config = config_of(self.source, options, path=path)
        require_training(self.config)

    @property
    def family(self) -> str | None:
        """The model class to keep where it does as well as any other."""
        if self.config.framework != "mindformers":
            return None
        from ...mapper.recipe.reading import recipe_of

        family = recipe_of(self.config).value("model.family")
        return family if isinstance(family, str) else None

    def bring_to(self, translation: Translation, language: Language) -> Updated:
        """The text that becomes of the file; what has to be done by hand is said on stderr."""
        from ...mapper.translate.update import update

        found = update(self.source.text, translation, self.config, self.options)
        for sentence in self._changes(found):
            tell(sentence.text(language))
        _tell_refused_changes(self.path, found, language)
        return found

    def _changes(self, found: Updated) -> Iterator[Words]:
        """The keys that the update removes, changes and adds, with their values."""
        assert found.config is not None
        old, new = _written_values(self.config), _written_values(found.config)
        removed = [f"{key} ({value})" for key, value in old.items() if key not in new]
        changed = [f"{key} ({value} -> {new[key]})" for key, value in old.items() if new.get(key, value) != value]
        added = [f"{key} ({value})" for key, value in new.items() if key not in old]
        sentences = (say.keys_removed, say.keys_changed, say.keys_added)
        if self.only_shows:
            sentences = (say.keys_to_remove, say.keys_to_change, say.keys_to_add)
        for said, keys in zip(sentences, (removed, changed, added), strict=True):
            if keys:
                yield said(path=self.path, keys=join_words(keys))
