"""A grammar of bash: scripts that end by themselves and start `torchrun p.py` with words that bash computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

NAMES = ("a", "b", "c", "dd", "E1")
ARRAYS = ("xs", "ys")
TEXTS = (
    "1", "0", "7", "-3", "08", "x", "a b", "", "*.z", "é中", "A-b_C", "--lr", "k=v", "a,b", "p/q.r", "  lead", "#", "~",
    "\\", "'", '"', "$", "{1,2}", "%s", "\t", "tail ", "!", "[x]", "-n", "ß", "1e-5", "010", "a:b:c",
)  # fmt: skip
PATTERNS = ("*", "?", "a*", "*b", "[a-c]", "[!x]", "*/", "*.", "-*", "", "x", "*[0-9]", "a b", "\\*", "[[:digit:]]")
OPERATORS = ("+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "<", "<=", "==", "!=", "&&", "||", "**", ",")
TESTS = ("-z", "-n")
COMPARED = ("=", "!=", "==", "<", ">", "-eq", "-lt", "-ge", "-ne")


class Script:
    """One script of the grammar, drawn by chance."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.loops = 0
        self.functions = 0

    def text(self) -> str:
        """A whole script, the last line of which starts the program."""
        lines = [self.statement(3) for _ in range(self.chance.randrange(1, 7))]
        lines.append(self.launch())
        return "\n".join(lines) + "\n"

    def pick(self, *forms: Callable[[], str]) -> str:
        return self.chance.choice(forms)()

    def launch(self) -> str:
        words = " ".join(self.word(2) for _ in range(self.chance.randrange(1, 4)))
        return f"torchrun p.py --num-layers {words}"

    # Words.

    def word(self, depth: int) -> str:
        if depth <= 0:
            return self.quoted()
        return self.pick(
            self.quoted, self.quoted,
            lambda: self.expansion(depth), lambda: f'"{self.in_double(depth)}"',
            lambda: f'"{self.inner()}{self.in_double(depth)}{self.inner()}"',
            lambda: self.word(depth - 1) + self.word(depth - 1),
            lambda: self.substitution(depth), lambda: f'"{self.substitution(depth)}"',
            lambda: f"$(({self.arithmetic(depth)}))",
            lambda: self.braces(depth),
        )  # fmt: skip

    def quoted(self) -> str:
        text = self.chance.choice(TEXTS)
        return self.pick(
            lambda: "'" + text.replace("'", "'\\''") + "'",
            lambda: '"' + "".join("\\" + one if one in '"$\\`' else one for one in text) + '"',
            lambda: "".join("\\" + one if one in " \t'\"$\\`*?[]{}#~!&|;<>()" else one for one in text) or "''",
            lambda: "$'" + text.replace("\\", "\\\\").replace("'", "\\x27") + self.chance.choice(("", "\\n", "\\x41",
            "\\101", "\\u00e9")) + "'",
            lambda: self.chance.choice(("1", "x", "ab", "--seed", "k=v", "a/b", "2.5")),
        )  # fmt: skip

    def in_double(self, depth: int) -> str:
        """An expansion in double quotes, where bash itself does not always find the end of `$'…'`."""
        return self.expansion(depth).replace("$'", "'")

    def inner(self) -> str:
        return self.chance.choice(("", "x", " ", "a b", "--", "/", "\\\\", "\\$", "'"))

    def name(self) -> str:
        return self.chance.choice(NAMES)

    def expansion(self, depth: int) -> str:
        name, array, number = self.name(), self.chance.choice(ARRAYS), self.chance.randrange(-2, 4)
        pattern = self.chance.choice(PATTERNS)
        other = self.word(depth - 1) if depth > 1 else self.quoted()
        return self.chance.choice((
            f"${name}", f"${{{name}}}", f"${{{name}:-{other}}}", f"${{{name}-{other}}}", f"${{{name}:+{other}}}",
            f"${{{name}+{other}}}", f"${{{name}:={other}}}", f"${{#{name}}}", f"${{{name}#{pattern}}}",
            f"${{{name}##{pattern}}}", f"${{{name}%{pattern}}}", f"${{{name}%%{pattern}}}",
            f"${{{name}/{pattern}/{self.chance.choice(('', 'y', '&', ' ', '-'))}}}", f"${{{name}//{pattern}/z}}",
            f"${{{name}/#{pattern}/z}}", f"${{{name}/%{pattern}/z}}", f"${{{name}: {number}}}",
            f"${{{name}:{abs(number)}:{self.chance.randrange(3)}}}", f"${{{name}^}}", f"${{{name}^^}}", f"${{{name},}}",
            f"${{{name},,}}", f"${{!{name}}}", f"${{{array}[@]}}", f"${{{array}[*]}}", f"${{{array}[{abs(number)}]}}",
            f"${{#{array}[@]}}", f"${{{array}[@]:1}}", f"${{{array}[@]/#/-}}", f"${{!{array}[@]}}",
            "$#", "$@", "$*", "$1", "${2:-none}", "${@:2}", f"${{{name}@Q}}", f"${{{name}:-${{{self.name()}}}}}",
        ))  # fmt: skip

    def substitution(self, depth: int) -> str:
        inside = self.chance.choice((
            f"echo {self.word(depth - 1)}", f"printf '%s' {self.word(depth - 1)}",
            f"printf '%03d' {self.chance.randrange(99)}",
            f"printf '%s-%s\\n' {self.word(depth - 1)} x y z", f"echo -n {self.word(depth - 1)}",
            f"echo -e {self.quoted()}",
            f"for q in {self.word(depth - 1)} 2; do echo $q; done",
            f"seq {self.chance.randrange(1, 4)}", "basename /a/b.sh .sh", "dirname /a/b/c", "true", "echo $#",
            f"echo {self.quoted()} | tr a-z A-Z", f"echo {self.quoted()} | cut -d' ' -f1",
            f"echo {self.quoted()} | sed 's/a/X/g'",
        ))  # fmt: skip
        return (
            f"`{inside}`" if "`" not in inside and "\\" not in inside and self.chance.random() < 0.1 else f"$({inside})"
        )

    def braces(self, depth: int) -> str:
        return self.chance.choice((
            "{a,b}", "x{1,2}y", "{1..4}", "{a..c}", "{03..1}", "{1..9..3}", "{,z}", "{a}", "{a,{b,c}}",
            "pre{1,'2 3'}", "{1..}",
            "{$a,b}", f"{{{self.quoted()},k}}", "{-2..2}", "{z..w..2}",
        ))  # fmt: skip

    def arithmetic(self, depth: int) -> str:
        if depth <= 0:
            return self.chance.choice(
                (str(self.chance.randrange(20)), "0x1F", "010", "2#101", "a", "b", "$a", "xs[0]", "${#xs[@]}")
            )
        one, other = self.arithmetic(depth - 1), self.arithmetic(depth - 1)
        return self.chance.choice((
            f"{one} {self.chance.choice(OPERATORS)} {other}", f"({one})", f"-{one}", f"!{one}", f"~ {one}",
            f"{one} ? {other} : {one}", f"{self.name()} = {one}", f"{self.name()} += {one}", f"{self.name()}++",
            f"--{self.name()}",
        )).replace("--", "- -" if self.chance.random() < 0.5 else "--")  # fmt: skip

    # Statements.

    def statement(self, depth: int) -> str:
        simple = (self.assignment, self.assignment, self.array, self.builtin, self.counted)
        if depth <= 0:
            return self.chance.choice(simple)()
        return self.pick(
            *simple, self.heredoc,
            lambda: self.choice(depth), lambda: self.loop(depth), lambda: self.case(depth),
            lambda: self.function(depth),
            lambda: f"{{ {self.statement(depth - 1)}\n}}", lambda: f"( {self.statement(depth - 1)}\n)",
            lambda: f"{self.condition()} {self.chance.choice(('&&', '||'))} {{ {self.statement(depth - 1)}\n}}",
            self.launch,
        )  # fmt: skip

    def assignment(self) -> str:
        name = self.name()
        return self.chance.choice((
            f"{name}={self.word(2)}", f"{name}={self.word(1)}", f"{name}+={self.word(1)}",
            f"export {name}={self.word(1)}",
            f"declare -i {name}={self.chance.randrange(9)}+1",
            f"readonly r{self.chance.randrange(99999)}={self.word(1)}",
            f"unset {name}", f": ${{{name}:={self.quoted()}}}", f"{name}=", f"declare -u {name}={self.quoted()}",
            f"printf -v {name} '%s|' {self.word(1)} k",
        ))  # fmt: skip

    def array(self) -> str:
        name, words = self.chance.choice(ARRAYS), " ".join(self.word(1) for _ in range(self.chance.randrange(4)))
        return self.chance.choice((
            f"{name}=({words})", f"{name}+=({words})", f"{name}[{self.chance.randrange(4)}]={self.word(1)}",
            f"unset '{name}[0]'",
            f"{name}=([2]=q {words})", f"unset {name}", f"{name}=(\"${{{self.chance.choice(ARRAYS)}[@]}}\" end)",
        ))  # fmt: skip

    def builtin(self) -> str:
        return self.chance.choice((
            f"set -- {self.word(1)} {self.word(1)}", "shift", "set -u", "set +u",
            f"read {self.name()} <<< {self.word(1)}",
            f"read -r {self.name()} {self.name()} <<< {self.word(1)}", f"IFS=, read -ra xs <<< {self.quoted()}",
            "IFS=,", "unset IFS",
            f"eval {shell_quote(self.assignment())}", "shopt -s nullglob", "set -f",
            f"mapfile -t ys <<< {self.word(1)}", ":",
            f"echo {self.word(1)} > /dev/null", "false", f"let {self.name()}=3+4", "set -e", "set +e",
            f"local {self.name()}=1 2> /dev/null",
        ))  # fmt: skip

    def counted(self) -> str:
        return f"(({self.arithmetic(2)}))"

    def heredoc(self) -> str:
        end = self.chance.choice(("EOF", "'EOF'", '"E F"'))
        body = f"{self.expansion(1)} {self.inner()}\nline two"
        return f"read -r -d '' {self.name()} <<{end}\n{body}\n{end.strip(chr(39) + chr(34))}"

    def condition(self) -> str:
        one, other = self.word(1), self.word(1)
        return self.chance.choice((
            f"[ {self.chance.choice(TESTS)} {one} ]",
            f"[ \"${self.name()}\" {self.chance.choice(COMPARED[:2])} {other} ]",
            f"[[ {self.chance.choice(TESTS)} ${self.name()} ]]",
            f"[[ ${self.name()} {self.chance.choice(COMPARED)} {other} ]]",
            f"(({self.arithmetic(1)}))", "true", "false",
            f"[[ ${self.name()} =~ {self.chance.choice(('^a', '[0-9]+', 'b$', '^(a|b)', '.*'))} ]]",
            f"! [ -z {one} ]", f"[ {one} ]", f"test -n {one} -a -z {other}",
            f"[[ -n {one} && ( -z {other} || x = x ) ]]",
        ))  # fmt: skip

    def choice(self, depth: int) -> str:
        other = f"\nelse {self.statement(depth - 1)}" if self.chance.random() < 0.5 else ""
        middle = f"\nelif {self.condition()}; then {self.statement(depth - 1)}" if self.chance.random() < 0.3 else ""
        return f"if {self.condition()}; then {self.statement(depth - 1)}{middle}{other}\nfi"

    def loop(self, depth: int) -> str:
        self.loops += 1
        name, body = f"i{self.loops}", self.statement(depth - 1)
        leave = self.chance.choice(("", "", f"\n[ ${name} = 2 ] && break", f"\n[ ${name} = 1 ] && continue"))
        return self.chance.choice((
            f"for {name} in {self.word(1)} {self.word(1)}; do {body}{leave}\ndone",
            f"for (({name}=0; {name}<3; {name}++)); do {body}{leave}\ndone",
            f"{name}=0\nwhile [ ${name} -lt 3 ]; do {name}=$(({name}+1)); {body}{leave}\ndone",
            f"for {name} in \"${{xs[@]}}\"; do {body}{leave}\ndone", f"for {name}; do {body}\ndone",
        ))  # fmt: skip

    def case(self, depth: int) -> str:
        arms: list[str] = []
        for _ in range(2):
            pattern = self.chance.choice(PATTERNS).replace(" ", "\\ ") or "''"
            arms.append(f"{pattern}) {self.statement(depth - 1)}\n{self.chance.choice((';;', ';;', ';&', ';;&'))}")
        return f"case {self.word(1)} in\n" + "\n".join(arms) + "\n*) :;;\nesac"

    def function(self, depth: int) -> str:
        self.functions += 1
        name = f"f{self.functions}"
        local = self.chance.choice(("", f"local {self.name()}={self.word(1)}\n", f"local {self.name()}\n"))
        returned = self.chance.choice(("", "\nreturn 1", "\nreturn"))
        return f"{name}() {{\n{local}{self.statement(depth - 1)}{returned}\n}}\n{name} {self.word(1)} {self.word(1)}"


def shell_quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
