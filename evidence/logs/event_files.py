"""TensorBoard event files, read without TensorFlow: length-prefixed records with checksums, each one protocol buffer.

Only scalars are kept: `simple_value`, or a tensor of one number, as newer writers do. A damaged record ends the
reading, as it does in TensorBoard; what stands before it is used, and where it is damaged is said. Of two
values of a tag at one step the later one counts, in the order of the files.
"""

from __future__ import annotations

import os
import struct
from array import array
from typing import TYPE_CHECKING

from ...schemas.fast_records import NamedTuple
from ..data.protocol_buffers import FIXED32, FIXED64, as_int64, fields
from .columns import ABSENT, GRAD_NORM, LEARNING_RATE, LOSS, column_value, is_loss, own_name
from .columns_compiled import LOSSES, MEGATRON_TAGS, MINDFORMERS_TAGS, NORMS, RATES
from .local_norms import NormList
from .messages_compiled import say
from .run import Run, interval_of, rises, segments_of
from .sources import EVENT_FILES, first_bytes, open_log, problem, refuse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import BinaryIO

    from ...schemas.diagnostic import Diagnostic
    from ...schemas.message import Words

_LARGEST = 1 << 26
_POLYNOMIAL = 0x82F63B78
_DELTA = 0xA282EAD8
_TABLE: list[int] = []
_TENSOR_FORMS = {1: ("<f", 4), 2: ("<d", 8), 3: ("<i", 4), 9: ("<q", 8)}
"""By TensorFlow's number of a type: how one number is laid out."""


class DamagedError(Exception):
    """A record whose checksum or form is wrong: where, why, and how many were read before it."""

    def __init__(self, offset: int, why: Words, records: int) -> None:
        super().__init__(why)
        self.offset = offset
        self.why = why
        self.records = records


class Scalar(NamedTuple):
    """One number of one tag at one step."""

    step: int
    tag: str
    value: float


def is_event_file(path: str) -> bool:
    """True for a TensorBoard event file, by its name or its first record's checksum."""
    if os.path.basename(path).startswith(EVENT_FILES):
        return True
    head = first_bytes(path)
    return len(head) >= 12 and struct.unpack_from("<I", head, 8)[0] == masked_crc(head[:8])


def scalars(stream: BinaryIO) -> Iterator[Scalar]:
    """All scalars of an event file; DamagedError at a damaged record."""
    for number, (offset, record) in enumerate(records(stream)):
        try:
            found = _scalars(record)
        except (struct.error, ValueError):
            raise DamagedError(offset, say.record_is_no_event(), number) from None
        yield from found


def records(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Records of an event file with their byte offsets."""
    offset = 0
    number = 0
    while True:
        head = stream.read(12)
        if not head:
            return
        if len(head) < 12:
            raise DamagedError(offset, say.ends_within_a_record(), number)
        length, check = struct.unpack("<QI", head)
        if check != masked_crc(head[:8]):
            raise DamagedError(offset, say.length_checksum_wrong(), number)
        if length > _LARGEST:
            raise DamagedError(offset, say.record_of_bytes(length=length), number)
        body = stream.read(length + 4)
        if len(body) < length + 4:
            raise DamagedError(offset, say.ends_within_a_record(), number)
        if struct.unpack_from("<I", body, length)[0] != masked_crc(body[:length]):
            raise DamagedError(offset, say.record_checksum_wrong(), number)
        yield offset, body[:length]
        offset += 16 + length
        number += 1


def masked_crc(data: bytes) -> int:
    """CRC-32C in TensorFlow's rotated and shifted form."""
    if not _TABLE:
        for byte in range(256):
            value = byte
            for _ in range(8):
                value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
            _TABLE.append(value)
    table = _TABLE
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + _DELTA) & 0xFFFFFFFF


def _fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Protocol-buffer fields of a record; byte fields as bytes."""
    for number, kind, value in fields(data, 0, len(data)):
        yield number, kind, data[slice(*value)] if isinstance(value, tuple) else value


def _scalars(event: bytes) -> list[Scalar]:
    """Scalars of one record; struct.error or ValueError if it is not an event."""
    step = 0
    summary: bytes | None = None
    for number, _, value in _fields(event):
        if number == 2 and isinstance(value, int):
            step = as_int64(value)
        elif number == 5 and isinstance(value, bytes):
            summary = value
    if summary is None:
        return []
    found: list[Scalar] = []
    for number, _, value in _fields(summary):
        if number == 1 and isinstance(value, bytes):
            tag, scalar = _value(value)
            if scalar is not None:
                found.append(Scalar(step, tag, scalar))
    return found


def _value(data: bytes) -> tuple[str, float | None]:
    """Tag of a scalar and its value; None for another kind of value."""
    tag = ""
    scalar: float | None = None
    for number, kind, value in _fields(data):
        if not isinstance(value, bytes):
            continue
        if number == 1:
            tag = value.decode("utf-8")
        elif number == 2 and kind == FIXED32:
            scalar = struct.unpack("<f", value)[0]
        elif number == 8:
            scalar = _tensor(value)
    return tag, scalar


_PACKED = {5: ("<f", 4), 6: ("<d", 8)}
"""The fields of a tensor that hold numbers of one kind each."""


def _tensor(data: bytes) -> float | None:
    """Number in a tensor with a single one; None otherwise."""
    form, size = "", 0
    numbers: list[float] = []
    for number, kind, value in _fields(data):
        if number == 1 and isinstance(value, int):
            form, size = _TENSOR_FORMS.get(value, ("", 0))
        elif number == 4 and isinstance(value, bytes) and form and len(value) == size:
            numbers.append(float(struct.unpack(form, value)[0]))
        elif number in _PACKED and isinstance(value, bytes):
            packed, width = _PACKED[number]
            if kind not in (FIXED64, FIXED32) and len(value) != width:
                return None
            numbers.append(float(struct.unpack(packed, value)[0]))
    return numbers[0] if len(numbers) == 1 else None


_NORM = "local_norm/"
_DYNAMIC = frozenset(("throughput", "mtp-1-loss"))
_STATIC = frozenset(("lm-loss", "B-samples-per-day", "model-flops-throughput-per-npu", "mtp-loss"))


def read_events(name: str, paths: tuple[str, ...]) -> Run:
    """Run recorded by one process's event files, in the order of their names."""
    tags: dict[str, dict[int, float]] = {}
    problems: list[Diagnostic] = []
    orders: dict[str, list[int]] = {}
    for path in paths:
        damage = _read(path, tags, orders)
        if damage is not None:
            damaged = say.bad_record(offset=damage.offset, why=damage.why, records=damage.records)
            if not tags:
                refuse(damaged, path)
            problems.append(problem(damaged, path))
    loss = _loss_tag(tags)
    if not loss:
        found = ", ".join(sorted(tag for tag in tags if not tag.endswith(" vs samples"))[:8]) or "none"
        refuse(say.no_scalars(tags=found), paths[-1])
    if loss not in ("lm loss", "loss"):
        return _run(name, paths, tags, _other_tags(loss, tags), ("other", "TensorBoard"), orders[loss], problems)
    framework = "megatron" if loss == "lm loss" else "mindformers"
    known = MEGATRON_TAGS if framework == "megatron" else MINDFORMERS_TAGS
    dialect = _dialect(tags, megatron=framework == "megatron")
    return _run(name, paths, tags, known, (framework, dialect), orders[loss], problems)


def _loss_tag(tags: Mapping[str, object]) -> str:
    """Tag of the loss; the two frameworks' tags come before those of other programs."""
    names = {own_name(tag): tag for tag in tags}
    return next((tag for tag in ("lm loss", "loss") if tag in tags), "") or next(
        (names[name] for name in LOSSES if name in names), ""
    )


def _other_tags(loss: str, tags: Iterable[str]) -> dict[str, str]:
    """Unified names for the tags of another program."""
    columns = {loss: LOSS}
    for tag in tags:
        last = own_name(tag.rpartition("/")[2])
        called = LEARNING_RATE if last in RATES else GRAD_NORM if last in NORMS else ""
        if called and called not in columns.values():
            columns[tag] = called
    return columns


def _read(path: str, tags: dict[str, dict[int, float]], orders: dict[str, list[int]]) -> DamagedError | None:
    """Add one file's scalars to `tags`; returns the damage that ended reading, if any."""
    try:
        with open_log(path) as stream:
            for scalar in scalars(stream):
                tags.setdefault(scalar.tag, {})[scalar.step] = column_value(scalar.value)
                if is_loss(scalar.tag) or own_name(scalar.tag) in LOSSES:
                    orders.setdefault(scalar.tag, []).append(scalar.step)
    except DamagedError as error:
        return error
    return None


def _dialect(tags: Mapping[str, object], *, megatron: bool) -> str:
    """Graph mode that wrote the tags, by which of them exist."""
    if megatron:
        return ""
    return "dynamic" if _DYNAMIC & tags.keys() and not _STATIC & tags.keys() else "static"


def _run(
    name: str,
    paths: tuple[str, ...],
    tags: Mapping[str, Mapping[int, float]],
    tag_columns: Mapping[str, str],
    program: tuple[str, str],
    order: list[int],
    problems: list[Diagnostic],
) -> Run:
    """Run with the scalars as columns, restarts reported and norms by parameter."""
    columns: dict[str, Mapping[int, float]] = {}
    norms: dict[int, dict[str, float]] = {}
    for tag, values in tags.items():
        if tag.startswith(_NORM):
            for step, value in values.items():
                norms.setdefault(step, {})[tag.removeprefix(_NORM)] = value
        elif tag in tag_columns or (is_loss(tag) and "/" not in tag and "validation" not in tag):
            columns[tag_columns.get(tag) or own_name(tag)] = values
    steps = array("q", sorted(columns[LOSS]))
    rising = rises(order)
    segments = segments_of(order, (), rising=rising)
    for segment in segments[1:]:
        before, after = order[segment.start - 1], order[segment.start]
        repeated = len(set(order[: segment.start]).intersection(order[segment.start : segment.end]))
        problems.append(problem(say.restart(before=before, after=after, repeated=repeated), paths[-1]))
    return Run(
        name,
        *program,
        "events",
        paths,
        steps,
        {key: array("d", (values.get(step, ABSENT) for step in steps)) for key, values in columns.items()},
        array("q", [1]) * len(steps),
        interval_of(order),
        tuple(problems),
        tuple(NormList(step, tuple(found), tuple(found.values())) for step, found in sorted(norms.items())),
    )
