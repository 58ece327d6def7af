"""Shell arithmetic: 64-bit integers, every operator of bash, assignments and ternaries included."""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING
from .messages_compiled import say
from .scanner import BLANKS, is_whole_number, name_end
from .session import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Callable


_BASED = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@_")
_DECIMAL = frozenset("0123456789")
_ALL_BITS = (1 << 64) - 1
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
_OPERATORS = frozenset(
    ("<<=", ">>=", "**", "++", "--", "&&", "||", "<<", ">>", "<=", ">=", "==", "!=", "+=", "-=", "*=", "/=", "%=", "&=",
     "^=", "|=", *"-+*/%<>=!~&^|?:,()[]")
)  # fmt: skip
_BINARY = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"),
    ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
_ASSIGNMENTS = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=", "<<=", ">>="))
DEEPEST = 40


def _token_end(expression: str, at: int) -> int:
    """End of the number, name or operator at `at`."""
    end = name_end(expression, at)
    if end > at:
        return end
    size = len(expression)
    while end < size and expression[end] in _DECIMAL:
        end += 1
    if end > at:
        based = 0
        if expression.startswith("#", end):
            based = _run_of(expression, end + 1, _BASED)
        elif expression[at] == "0" and expression[at + 1 : at + 2] in ("x", "X"):
            end, based = at + 1, _run_of(expression, at + 2, _HEXADECIMAL)
        return based if based > end + 1 else end
    for length in (3, 2, 1):
        if expression[at : at + length] in _OPERATORS:
            return at + length
    raise ExpressionError(say.syntax_error())


def _steps(before: list[str], following: str) -> bool:
    """True if `++` or `--` belongs to a variable beside it; bash reads `---a` as `- --a`, and `--1` as `- -1`."""
    behind = bool(before) and (before[0][:1].isalpha() or before[0][:1] in ("_", "]"))
    return behind or following[:1].isalpha() or following[:1] == "_"


def _run_of(text: str, at: int, characters: frozenset[str]) -> int:
    while text[at : at + 1] in characters:
        at += 1
    return at


class Evaluator:
    """Evaluates expressions. `read` gives a variable's text (raising UndecidedError), `write` assigns one."""

    def __init__(self, read: Callable[[str, str | None], str], write: Callable[[str, str | None, int], None]) -> None:
        self.read = read
        self.write = write
        self.depth = 0
        self.too_deep = False

    def value(self, expression: str) -> int:
        """The value of an expression; an empty one is 0."""
        self.depth += 1
        if self.depth > DEEPEST:
            self.too_deep = True
            raise ExpressionError(say.refers_to_itself())
        tokens = self._tokens(expression)
        if not tokens:
            self.depth -= 1
            return 0
        run = _Run(self, tokens)
        found = run.comma()
        if run.at < len(tokens):
            raise ExpressionError(say.syntax_error())
        self.depth -= 1
        return found

    def _tokens(self, expression: str) -> list[str]:
        """Tokens of an arithmetic expression."""
        tokens: list[str] = []
        at = 0
        end = len(expression.rstrip(" \t\n"))
        while at < end:
            if expression[at] in BLANKS:
                at += 1
                continue
            stop = _token_end(expression, at)
            if expression[at:stop] in ("++", "--") and not _steps(tokens[-1:], expression[stop:].lstrip(" \t\n")):
                stop -= 1
            tokens.append(expression[at:stop])
            at = stop
        return tokens

    def variable(self, name: str, index: str | None) -> int:
        """A variable's value, evaluated in turn."""
        text = self.read(name, index)
        if is_whole_number(text) and (text == "0" or text[0] not in "-0"):
            return int(text)
        return self.value(text)


class _Run:
    """One pass over the tokens of an expression; `live` is false where a branch is parsed but not taken."""

    __slots__ = ("at", "depth", "live", "owner", "tokens")

    def __init__(self, owner: Evaluator, tokens: list[str]) -> None:
        self.owner = owner
        self.tokens = tokens
        self.at = 0
        self.live = True
        self.depth = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, token: str) -> bool:
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def comma(self) -> int:
        """Value of the last of several expressions separated by commas."""
        found = self.assignment()
        while self.take(","):
            found = self.assignment()
        return found

    def assignment(self) -> int:
        """Value of an assignment or a conditional expression; assigns unless the branch is skipped."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise ExpressionError(say.nests_too_deeply())
        start = self.at
        target = self._target()
        operator = self.peek()
        if target is not None and operator in _ASSIGNMENTS:
            self.at += 1
            name, index = target
            # The value before what follows: in `X += X++` it is the one that X has had.
            before = self.owner.variable(name, index) if self.live and operator != "=" else 0
            found = self.assignment()
            if operator != "=":
                found = self._operate(operator[:-1], before, found)
            if self.live:
                self.owner.write(name, index, found)
        else:
            self.at = start
            found = self.ternary()
            if self.peek() in _ASSIGNMENTS:
                raise ExpressionError(say.syntax_error())
        self.depth -= 1
        return found

    def _target(self) -> tuple[str, str | None] | None:
        """Variable name and subscript at the current position; None if there is no variable."""
        name = self.peek()
        if not (name[:1].isalpha() or name[:1] == "_"):
            return None
        self.at += 1
        return name, self._index()

    def _index(self) -> str | None:
        """Subscript text at the current position; None if there is none."""
        if self.peek() != "[":
            return None
        level, start = 0, self.at + 1
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            level += (token == "[") - (token == "]")
            self.at += 1
            if level == 0:
                return " ".join(self.tokens[start : self.at - 1])
        raise ExpressionError(say.syntax_error())

    def ternary(self) -> int:
        """Value of `a ? b : c`; only the taken side has effects."""
        condition = self.binary(0)
        if not self.take("?"):
            return condition
        live = self.live
        self.live = live and condition != 0
        yes = self.comma()
        if not self.take(":"):
            raise ExpressionError(say.syntax_error())
        self.live = live and condition == 0
        no = self._other_side()
        self.live = live
        return yes if condition else no

    def _other_side(self) -> int:
        """Value behind the colon of `a ? b : c`: bash refuses an assignment there unless it is in parentheses."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise ExpressionError(say.nests_too_deeply())
        found = self.ternary()
        self.depth -= 1
        return found

    def binary(self, level: int) -> int:
        """Value of binary operators from a precedence level on."""
        if level == len(_BINARY):
            return self.power()
        left = self.binary(level + 1)
        operators = _BINARY[level]
        while self.peek() in operators:
            operator = self.tokens[self.at]
            self.at += 1
            if level < 2:
                live = self.live
                decided = (left != 0) == (operator == "||")
                self.live = live and not decided
                right = self.binary(level + 1)
                self.live = live
                left = int(left != 0 or right != 0) if operator == "||" else int(left != 0 and right != 0)
            else:
                left = self._operate(operator, left, self.binary(level + 1))
        return left

    def power(self) -> int:
        """Value of `a ** b`, wrapped to 64 bits."""
        base = self.unary()
        if not self.take("**"):
            return base
        self.depth += 1
        if self.depth > DEEPEST:
            raise ExpressionError(say.nests_too_deeply())
        exponent = self.power()
        self.depth -= 1
        if exponent < 0:
            if self.live:
                raise ExpressionError(say.negative_exponent())
            return 0
        return _to_int64(pow(base, exponent, 1 << 64))

    def unary(self) -> int:
        """Value with prefix operators, `++` and `--` included."""
        operator = self.peek()
        if operator in ("+", "-", "!", "~"):
            self.depth += 1
            if self.depth > DEEPEST:
                raise ExpressionError(say.nests_too_deeply())
            self.at += 1
            operand = self.unary()
            self.depth -= 1
            return {"+": operand, "-": _to_int64(-operand), "!": int(not operand), "~": ~operand}[operator]
        if operator in ("++", "--"):
            self.at += 1
            start = self.at
            target = self._target()
            if target is None:
                self.at = start
                return self.unary()
            found = self._step(target, operator, before=True)
            self._evaluate_next_name()
            return found
        return self.postfix()

    def _step(self, target: tuple[str, str | None], operator: str, *, before: bool) -> int:
        """Increment or decrement a variable; returns the value before or after."""
        old = self.owner.variable(*target) if self.live else 0
        new = _to_int64(old + (1 if operator == "++" else -1))
        if self.live:
            self.owner.write(*target, new)
        return new if before else old

    def postfix(self) -> int:
        """Value of a parenthesis, number or variable, with a postfix operator."""
        token = self.peek()
        if token == "(":
            self.at += 1
            found = self.comma()
            if not self.take(")"):
                raise ExpressionError(say.syntax_error())
            self._evaluate_next_name()
            return found
        target = self._target()
        if target is None:
            if token[:1] not in _DECIMAL:
                raise ExpressionError(say.operand_expected())
            self.at += 1
            found = _number(token)
        elif self.peek() in ("++", "--"):
            operator = self.tokens[self.at]
            self.at += 1
            found = self._step(target, operator, before=False)
        else:
            found = self.owner.variable(*target) if self.live else 0
        self._evaluate_next_name()
        return found

    def _evaluate_next_name(self) -> None:
        """Evaluate a variable behind an operand: bash evaluates each name as it reads it, before the syntax error."""
        behind = self.at
        target = self._target() if self.live else None
        if target is not None and self.peek() != "=":
            self.owner.variable(*target)
        self.at = behind

    def _operate(self, operator: str, left: int, right: int) -> int:
        """Result of a binary operator in 64-bit arithmetic."""
        if operator in ("/", "%"):
            if right == 0:
                if self.live:
                    raise ExpressionError(say.division_by_zero())
                return 0
            quotient = abs(left) // abs(right)
            if (left < 0) != (right < 0):
                quotient = -quotient
            return _to_int64(quotient if operator == "/" else left - quotient * right)
        if operator == "+":
            return _to_int64(left + right)
        if operator == "-":
            return _to_int64(left - right)
        if operator == "*":
            return _to_int64(left * right)
        if operator == "<<":
            return _to_int64(left << (right & 63))
        if operator == ">>":
            return left >> (right & 63)
        if operator in ("&", "|", "^"):
            return {"&": left & right, "|": left | right, "^": left ^ right}[operator]
        return int(
            {
                "==": left == right,
                "!=": left != right,
                "<": left < right,
                ">": left > right,
                "<=": left <= right,
                ">=": left >= right,
            }[operator]
        )


def _to_int64(value: int) -> int:
    value &= _ALL_BITS
    return value - (1 << 64) if value >> 63 else value


def _number(token: str) -> int:
    """Number in bash syntax, wrapped to 64 bits."""
    base, digits = 10, token
    if "#" in token:
        base_text, _, digits = token.partition("#")
        base = int(base_text) if len(base_text) < 4 else 0
        if not 2 <= base <= 64:
            raise ExpressionError(say.invalid_base())
    elif token[:2] in ("0x", "0X"):
        base, digits = 16, token[2:]
    elif len(token) > 1 and token[0] == "0":
        base = 8
    found = 0
    for digit in digits:
        place = _DIGITS.find(digit.lower() if base <= 36 else digit)
        if not 0 <= place < base:
            raise ExpressionError(say.too_great_for_base())
        found = (found * base + place) & _ALL_BITS
    return _to_int64(found)


_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@_"
