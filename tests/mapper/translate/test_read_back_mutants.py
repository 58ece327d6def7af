"""Errors put into rows of the tables, one at a time, and whether what is read back shows them.

`python tests/mapper/translate/test_read_back_mutants.py` prints every mutant that nothing reports. A mutant changes
one side of one row: another key, a value, a default, a gate, a number of its lens. Its source is made of the row's own
argument with a value that is not the default. Three places can be wrong:

- `written`: what writes the file has the error, what reads it has not (and `read`, the other way round);
- `source`: what reads the source has it: the file is then written as the wrong recipe says;
- `both`: writer and reader of one side share the error, which makes and undoes it: counted apart, by name.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import pytest

from accmap.mapper.differences import differences
from accmap.mapper.gates import counts
from accmap.mapper.recipe import reading
from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.translate.read_back import as_read, read_back, text_of
from accmap.mapper.translate.translation import translate_recipe
from accmap.mappings import tables
from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.megatron.catalog import catalog
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from accmap.mapper.translate.result import Translation
    from accmap.mappings.tables import Row, Side
    from accmap.schemas.config import Config, Value
    from accmap.schemas.megatron.catalog import ArgumentFact

MEGATRON, MINDFORMERS = "0.16", "1.9"
DENSE = (
    "--num-layers 4 --hidden-size 64 --ffn-hidden-size 176 --num-attention-heads 4 --seq-length 64 "
    "--max-position-embeddings 64 --micro-batch-size 2 --global-batch-size 8 --train-iters 20 --lr 1e-4 "
    "--lr-decay-iters 20 --vocab-size 1000 --tokenizer-type NullTokenizer --bf16 --swiglu --disable-bias-linear "
    "--normalization RMSNorm --position-embedding-type rope --untie-embeddings-and-output-weights "
    "--data-path a_text_document --split 1,0,0 --eod-mask-loss"
)
EXPERTS = " --num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 96 --moe-grouped-gemm --moe-aux-loss-coeff 1e-3"
PLAIN = (
    "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --max-position-embeddings 128 "
    "--micro-batch-size 2 --global-batch-size 8 --train-iters 20 --lr 1e-4 --min-lr 1e-5 --lr-warmup-iters 4 "
    "--lr-decay-style cosine --vocab-size 1000 --tokenizer-type NullTokenizer --fp16 --no-rope-fusion "
    "--untie-embeddings-and-output-weights --data-path a_text_document --split 1,0,0"
)
LATENT = (
    " --multi-latent-attention --q-lora-rank 24 --kv-lora-rank 16 --qk-head-dim 16 --qk-pos-emb-head-dim 8"
    " --v-head-dim 16"
)
DEEPER = " --mtp-num-layers 1 --rotary-scaling-factor 8 --mscale 0.8 --mscale-all-dim 0.8 --qk-layernorm"
BASES = (DENSE, DENSE + EXPERTS, DENSE + EXPERTS + LATENT, PLAIN, DENSE + EXPERTS + LATENT + DEEPER)
NEVER = (("model.num_layers", "eq", -1),)


class Mutant(NamedTuple):
    """One error in one side of one row."""

    fields: tuple[str, ...]
    side: str
    kind: str
    row: Row


class Outcome(NamedTuple):
    """Where the error stood, and whether anything reports it; None where it changes nothing."""

    mutant: Mutant
    place: str
    reported: bool | None


class Run(NamedTuple):
    """A source with its right translation."""

    source: Config
    to: str
    translation: Translation
    text: str


def run_of(arguments: str) -> tuple[Run, Run] | None:
    """Both directions of one run; None where it is none that is carried over in silence."""
    text = f"torchrun --nproc_per_node 1 pretrain_gpt.py {arguments}\n"
    try:
        script = config_of(SourceText("a.sh", text), ReadOptions(megatron=MEGATRON), path="a.sh")
        there = _run(script, "mindformers")
        assert there.translation.written is not None
        back = _run(there.translation.written, "megatron")
    except UnreadableError:
        return None
    return None if there.translation.unsaid or back.translation.unsaid else (there, back)


def _run(source: Config, to: str) -> Run:
    version = MEGATRON if to == "megatron" else MINDFORMERS
    translation = read_back(translate_recipe(recipe_of(source), source, to, version), source)  # type: ignore[arg-type]
    return Run(source, to, translation, text_of(translation, comments=False))


def arguments_for(row: Row) -> Iterator[str]:
    """What sets the row's first argument to another value than its default, on each base."""
    side = row.side("megatron", MEGATRON)
    facts = catalog(MEGATRON).by_dest
    names = [] if side is None else [name for key in side.keys[:1] for name in key.split("|") if name in facts]
    for base in BASES:
        words = [] if not names else list(_words(facts[names[0]]))
        yield from (f"{base} {word}" for word in words)
        yield base


def _words(fact: ArgumentFact) -> Iterator[str]:
    option = fact.options[0]
    if fact.action in ("true", "false"):
        yield option
    elif fact.choices is not None:
        yield from (f"{option} {one}" for one in fact.choices if one != fact.default)
    elif fact.nargs is None and (fact.type == "int" or isinstance(fact.default, int)):
        known = fact.default if isinstance(fact.default, int) else 1
        yield from (f"{option} {one}" for one in (2 * known, 2, known + 1) if one != known)
    elif fact.nargs is None and (fact.type == "float" or isinstance(fact.default, float)):
        yield from (f"{option} {one}" for one in (0.25, 0.5) if one != fact.default)


# --- mutants ---


def mutants_of(row: Row) -> Iterator[Mutant]:
    """Every error that a row has room for."""
    for name, version in (("megatron", MEGATRON), ("static", MINDFORMERS)):
        side = row.side(name, version)  # type: ignore[arg-type]
        if side is None:
            continue
        for kind, wrong in _wrong_sides(side, name):
            written = f"of_{name}"
            sides = tuple(wrong if tuple(one) == tuple(side) else one for one in getattr(row, written))
            yield Mutant(row.fields, name, kind, row._replace(**{written: sides}))
    yield Mutant(row.fields, "row", "gate", row._replace(only=(*row.only, *NEVER)))


def _wrong_sides(side: Side, name: str) -> Iterator[tuple[str, Side]]:
    if side.fixed is not None:
        yield "default", side._replace(fixed=tuple(map(_other, side.fixed)))
        return
    if not side.keys or side.lens == "nothing":
        return
    wrong = "clip_grad" if name == "megatron" else "model.model_config.rms_norm_epsilon_"
    wrong = wrong if side.keys[0] != wrong else "hidden_dropout"
    read = ("resolved.transformer.layernorm_epsilon", *side.read[1:]) if side.read else ()
    yield "key", side._replace(keys=(wrong, *side.keys[1:]), read=read, aliases=())
    values = side.options.get("values")
    if isinstance(values, dict) and len(values) > 1:
        names = list(values)
        swapped = {**values, names[0]: values[names[1]], names[1]: values[names[0]]}
        yield "value map", side._replace(options={**side.options, "values": swapped})
    for option, value in side.options.items():
        if isinstance(value, (int, float)):
            kind = "default" if option == "absent" else "lens parameter"
            yield kind, side._replace(options={**side.options, option: _other(value)})
    if side.lens in _OTHER_LENS:
        yield "lens", side._replace(lens=_OTHER_LENS[side.lens])


_OTHER_LENS = {"same": "negate", "negate": "same", "float": "negate", "int": "negate"}


def _other(value: Value) -> Value:
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    return "other" if value is None or isinstance(value, str) else value


@contextmanager
def with_row(right: Row, wrong: Row) -> Generator[None]:
    """The tables with one row replaced; what was made of them is made again."""
    known = tables.table()
    changed = known._replace(rows=tuple(wrong if row is right else row for row in known.rows))
    _use(changed)
    try:
        yield
    finally:
        _use(known)


def _use(known: tables.Table) -> None:
    tables._tables[:] = [known]  # pyright: ignore[reportPrivateUsage]
    tables._rows_of.clear()  # pyright: ignore[reportPrivateUsage]
    reading._plans.clear()  # pyright: ignore[reportPrivateUsage]


# --- what is reported ---


def told(translation: Translation) -> set[object]:
    """What a user is told that is no success: rows, fields of the TransformerConfig, and what no row names."""
    found: set[object] = {("unsaid", one.field) for one in translation.unsaid}
    for row in translation.rows:
        if row.status not in ("exact", "made-explicit") and row.impact != "none":
            found.add((row.status, row.field, row.source))
        found.update(("TransformerConfig", repr(one)) for one in row.resolved)
    return found


def outcomes(right: Row, mutant: Mutant, runs: Sequence[Run]) -> Iterator[Outcome]:
    """What becomes of the error in each place where it can stand."""
    for place in ("written", "read", "source", "both"):
        answers = [answer for run in runs if (answer := _reported(right, mutant.row, run, place)) is not None]
        yield Outcome(mutant, place, any(answers) if answers else None)


def _reported(right: Row, wrong: Row, run: Run, place: str) -> bool | None:
    """Whether a translation with the error says something that the right one does not; None where nothing changes."""
    version = MEGATRON if run.to == "megatron" else MINDFORMERS
    try:
        if place == "source":
            with with_row(right, wrong):
                recipe = recipe_of(run.source)
        else:
            recipe = recipe_of(run.source)
        if place in ("written", "both"):
            with with_row(right, wrong):
                translation = translate_recipe(recipe, run.source, run.to, version)  # type: ignore[arg-type]
                text = text_of(translation, comments=False)
                if place == "both":
                    translation = read_back(translation, run.source)
        else:
            translation = translate_recipe(recipe, run.source, run.to, version)  # type: ignore[arg-type]
            text = text_of(translation, comments=False)
        if place == "read":
            with with_row(right, wrong):
                translation = read_back(translation, run.source)
        elif place != "both":
            translation = read_back(translation, run.source)
    except UnreadableError:
        return True
    new = bool(told(translation) - told(run.translation))
    if place == "read":
        return True if new else None  # a reader that reads the same has no error here
    return new if new or (text != run.text and _has_effect(translation, text, run)) else None


def _has_effect(translation: Translation, text: str, run: Run) -> bool:
    """Whether the file that is written is another run: a class's default may be what was left out."""
    assert run.translation.written is not None
    right, wrong = recipe_of(run.translation.written), recipe_of(as_read(translation, text))
    return any(
        one.field is not None
        and one.status != "equal"
        and one.impact != "none"
        and counts(one.field, right, wrong) is not False
        for one in differences(right, wrong)
    )


def tried(rows: Sequence[Row]) -> Iterator[Outcome]:
    """Every mutant of some rows, on the first source that exercises its row."""
    for row in rows:
        runs = _exercising(row)
        for mutant in mutants_of(row) if runs else ():
            yield from outcomes(row, mutant, runs)


def _exercising(row: Row) -> tuple[Run, ...]:
    for arguments in arguments_for(row):
        runs = run_of(arguments)
        if runs is None:
            continue
        fields = set(row.fields)
        if any(one.field in fields and one.carried and one.explicit for one in runs[0].translation.rows):
            return runs
    return ()


def main(words: Sequence[str]) -> int:
    """Try every row, or `K/N` of them, and print what is reported and what is not."""
    part, parts = (int(word) for word in words[0].split("/")) if words else (0, 1)
    found = [one for one in tried(tables.table().rows[part::parts]) if one.reported is not None]
    print(len({one.mutant.fields for one in found}), "rows")
    for place in ("written", "read", "source", "both"):
        for kind in sorted({one.mutant.kind for one in found}):
            here = [one for one in found if one.place == place and one.mutant.kind == kind]
            if here:
                print(f"{place:8} {kind:15} {sum(map(_is_reported, here))} of {len(here)}")
        here = [one for one in found if one.place == place]
        print(f"{place}: {sum(map(_is_reported, here))} of {len(here)}")
    for one in found:
        if not one.reported:
            print(f"- {one.place}: {one.mutant.kind} of {one.mutant.side} of {', '.join(one.mutant.fields)}")
    return 0


def _is_reported(one: Outcome) -> bool:
    return one.reported is True


ENOUGH = 0.95
SAMPLE = ("model.ffn_hidden_size", "norm.epsilon", "moe.router.topk", "optimizer.weight_decay")


UNSEEN = {
    "model.tie_embeddings": "the way back writes no vocabulary, so that the matrices of words are undecided",
    "gradient.per_token_loss": "1.9 loses it over several micro batches, so that the weighting is undecided",
    "attention.flash": "costs time and memory alone",
    "fusion.bias_swiglu": "costs time and memory alone",
    "parallel.distributed_optimizer": "costs time and memory alone",
    "recompute.granularity": "costs time and memory alone",
    "optimizer.cpu_offload": "costs time and memory alone",
    "data.num_workers": "costs time and memory alone",
    "data.builder_threads": "costs time and memory alone",
    "run.deterministic": "says of no number what it is",
    "precision.compute_dtype": "a number's type, from which nothing is computed",
    "precision.residual_in_fp32": "a number's type, from which nothing is computed",
    "precision.loss_scale.mode": "divided by again before the update",
    "optimizer.type": "stands alone: no quantity says what an update makes of a gradient",
    "optimizer.beta1": "stands alone: no quantity says what an update makes of a gradient",
    "optimizer.epsilon": "stands alone: no quantity says what an update makes of a gradient",
    "gradient.clip_norm": "stands alone: no quantity says what an update makes of a gradient",
    "data.seed": "stands alone: which samples come is the data's",
    "run.seed": "stands alone: which weights are drawn is the machine's",
    "data.blend": "stands alone: which samples come is the data's",
    "data.eod_token": "stands alone: where documents end is the data's",
    "run.stop_step": "the run's samples are those of its whole length",
    "checkpoint.resume": "says which weights come, not what is computed of them",
}
"""Where an error that writer and reader share, which makes and undoes it, shows in no quantity, and why."""


def counted(found: Sequence[Outcome], *places: str) -> tuple[int, int]:
    """How many errors in some places are reported, and how many there are."""
    here = [one for one in found if one.place in places and one.reported is not None]
    return sum(map(_is_reported, here)), len(here)


@pytest.mark.long
def test_an_error_in_a_row_is_reported() -> None:
    rows = [row for row in tables.table().rows if row.fields[0] in SAMPLE]
    assert len(rows) == len(SAMPLE)
    good, of = counted(list(tried(rows)), "written", "read")
    assert of >= 4 * len(rows)
    assert good == of


@pytest.mark.slow
def test_errors_in_every_row_are_reported() -> None:
    found = list(tried(tables.table().rows))
    assert len({one.mutant.fields for one in found if one.reported is not None}) >= 100
    good, of = counted(found, "written", "read")
    assert of >= 380
    assert good >= ENOUGH * of, [one.mutant[:3] for one in found if one.reported is False and one.place != "both"]
    good, of = counted(found, "both")
    assert good >= 0.86 * of
    assert {one.mutant.fields[0] for one in found if one.reported is False and one.place == "both"} <= UNSEEN.keys()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
