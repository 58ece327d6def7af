"""A grammar of YAML 1.1: nested documents in every style, with the scalars on which readers disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

PLAIN = (
    "1", "0", "-1", "+3", "007", "08", "0o7", "0x1F", "0b101", "1_000", "1__0", "_1", "1:30", "1:60", "-1:30:20",
    "1.5", ".5",
    "5.", "-.5", "1.0e5", "1.0e+5", "1e5", "1e-5", "1.e+3", ".inf", "-.INF", ".NaN", ".nan", "true", "True", "TRUE",
    "yes",
    "No", "on", "OFF", "y", "n", "null", "Null", "~", "", "2024-01-01", "2024-1-1 10:00:00", "2024-13-01", "=", "<<",
    "abc", "a b",
    "a#b", "a:b", "-x", "?x", ":x", "x:", "@x", "%x", "`x", "a,b", "a]b", "{x", "!x", "&x y", "*x", "|", ">", "'", '"',
    "é中", "\u2028", "x" * 200, "1" * 40, "0.1.2", "1.2.3", "- x", "--- x", "...", "# c", "a # c", "a\tb", "\x85",
    "9" * 400,
    "12e03", "685_230.15", "190:20:30.15", "!!str 1", "!!int '3'", "!!float 1", "!!bool yes", "!!null ''",
    "!!binary aGk=",
    "!!set {a}", "!t x", "! 1", "!!python/none x", "!!timestamp 2001-01-01",
)  # fmt: skip
QUOTED = (
    "",
    "a",
    "1",
    "true",
    "\\n",
    "\\x41",
    "\\u00e9",
    "\\\\",
    "a b",
    "''",
    "#",
    ": ",
    "\\q",
    "a\n  b",
    "\\\n  c",
    "\t",
    "é",
    "\\0",
    "\\_",
)
KEYS = (
    "a",
    "b",
    "c",
    "key",
    "1",
    "true",
    "~",
    "'q'",
    '"w"',
    "x y",
    "a.b",
    "-k",
    "é",
    "1.5",
    "model",
    "<<",
    "?",
    "null",
    "0x1",
)

SOUND, SOUND_KEYS = PLAIN.index("="), KEYS.index("-k")
"""What comes before these is sound wherever it stands."""


class Document:
    """One document of the grammar, drawn by chance."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.anchors: list[str] = []
        self.odd = chance.random() < 0.35
        """Most documents hold what a reader accepts: one odd scalar ends the reading of all."""

    def text(self) -> str:
        body = self.block(0, 3)
        head = self.chance.choice(("", "", "", "", "---\n", "%YAML 1.1\n---\n", "# c\n", "\n\n", "\ufeff"))
        tail = self.chance.choice(("\n", "\n", "\n", "", "\n...\n", "\n# c", "\n \n", *(["\n---\nx: 1\n"] * self.odd)))
        text = head + body + tail
        return text.replace("\n", self.chance.choice(("\r\n", "\r"))) if self.chance.random() < 0.05 else text

    def space(self) -> str:
        return self.chance.choice((" ", " ", " ", " ", "  ", *(("\t", " \t") if self.odd else ())))

    def comment(self) -> str:
        return self.chance.choice(("", "", "", "", "", " # c", "  #", " #: - x", "#x"))

    def block(self, indent: int, depth: int) -> str:
        """A mapping or a list in block style, or a scalar."""
        kind = self.chance.random()
        if depth <= 0 or kind < 0.1:
            return " " * indent + self.scalar(indent)
        lines: list[str] = []
        step = self.chance.choice((1, 2, 2, 4))
        for _ in range(self.chance.randrange(1, 5)):
            mark = f"{self.key()}:" if kind < 0.75 else "-"
            lines.append(" " * indent + mark + self.value(indent, depth, step, in_list=kind >= 0.75))
            if self.chance.random() < 0.06:
                lines.append(self.chance.choice(("", "# c", " " * indent + "# c", "  ", "\t")))
        return "\n".join(lines)

    def value(self, indent: int, depth: int, step: int, *, in_list: bool) -> str:
        kind = self.chance.random()
        mark = self.property()
        if kind < 0.35 and depth > 1:
            below = indent if not in_list and self.chance.random() < 0.2 else indent + step
            if in_list and self.chance.random() < 0.5:
                return " " + self.block(indent + 2, depth - 1).lstrip(" ")
            return f"{mark}{self.comment()}\n{self.block(below, depth - 1)}"
        if kind < 0.5:
            return f"{self.space()}{mark.lstrip()}{' ' * bool(mark)}{self.flow(2)}{self.comment()}"
        if kind < 0.6:
            return self.literal(indent, step)
        if kind < 0.65 and self.anchors:
            return f" *{self.chance.choice(self.anchors)}{self.comment()}"
        return f"{self.space()}{mark.lstrip()}{' ' * bool(mark)}{self.scalar(indent)}{self.comment()}"

    def property(self) -> str:
        kind = self.chance.random()
        if kind < 0.08:
            self.anchors.append(f"n{len(self.anchors)}")
            return f" &{self.anchors[-1]}"
        return self.chance.choice((" !!map", " !!seq", " !!str", " !", " !t")) if kind < 0.11 and self.odd else ""

    def key(self) -> str:
        kind = self.chance.random()
        if kind < 0.02 and self.anchors:
            return f"*{self.chance.choice(self.anchors)} "
        if kind < 0.03 and self.odd:
            return f"? {self.flow(1)}\n"
        return self.chance.choice(KEYS if self.odd else KEYS[:SOUND_KEYS]) + self.chance.choice(("", "", "", "", " "))

    def scalar(self, indent: int) -> str:
        kind = self.chance.random()
        if kind < 0.7:
            return self.chance.choice(PLAIN if self.odd else PLAIN[:SOUND])
        text = "".join(self.chance.choice(QUOTED) for _ in range(self.chance.randrange(3)))
        if kind < 0.85:
            return f'"{text}"'
        return "'" + text.replace("'", "''") + "'" if kind < 0.97 else f"{text}\n{' ' * (indent + 1)}more"

    def literal(self, indent: int, step: int) -> str:
        head = self.chance.choice("|>") + self.chance.choice(("", "", "-", "+", "1", "2", "-1", "0", "9"))
        lines = [
            self.chance.choice(("x", "", " y", "# z", "a: 1", "\tq", "- w", "  "))
            for _ in range(self.chance.randrange(4))
        ]
        return f" {head}{self.comment()}\n" + "\n".join(" " * (indent + step) + one if one else "" for one in lines)

    def flow(self, depth: int) -> str:
        if depth <= 0:
            return self.scalar(0)
        entries = [self.flow(depth - 1) for _ in range(self.chance.randrange(4))]
        if self.chance.random() < 0.6:
            return (
                "["
                + self.chance.choice((", ", ",", " , ", ",\n  ")).join(entries)
                + self.chance.choice(("", "", ",", " "))
                + "]"
            )
        return (
            "{" + ", ".join(f"{self.key()}{self.chance.choice((': ', ': ', ':', ' '))}{one}" for one in entries) + "}"
        )
