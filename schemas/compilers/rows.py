"""The expressions and messages of a table's rows, compiled to small functions of the run that applies them.

Expressions are Python's, over names that the table's framework has, the functions of one module, and what the run
itself answers. A name that nothing has is an error with the file and the line, when the products are made.
"""

from __future__ import annotations

import ast
from string import Formatter
from typing import TYPE_CHECKING, Any, cast

import yaml

from .tables import LOADER

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

LINE = "__line__"
"""Under which key of a row its line in the file stands."""


class TableError(ValueError):
    """A row that cannot be read, with its place."""

    def __init__(self, file: str, row: dict[str, Any], why: str) -> None:
        super().__init__(f"{file}:{row.get(LINE, 1)}: {why}")


class _Loader(LOADER):
    """Rows that know their line."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        found = super().construct_mapping(node, deep=deep)
        return {**found, LINE: node.start_mark.line + 1}


def read_table(path: str) -> Any:
    """Table in a YAML file, with the line number in each mapping."""
    with open(path, encoding="utf-8") as stream:
        return yaml.load(stream, _Loader)


def plain(value: Any) -> Any:
    """A value without the lines of its mappings."""
    if isinstance(value, dict):
        mapping = cast("dict[Any, Any]", value)
        return {key: plain(entry) for key, entry in mapping.items() if key != LINE}
    return [plain(entry) for entry in cast("list[Any]", value)] if isinstance(value, list) else value


class Names:
    """The names that the expressions of a table may call and read."""

    def __init__(
        self,
        functions: Collection[str],
        context: Collection[str],
        builtins: Collection[str],
        place: Callable[[str], str | None],
        naming: Collection[str] = (),
    ) -> None:
        self.functions = functions
        self.context = context
        self.builtins = builtins
        self.naming = naming
        """What of the context has a name as its first argument."""
        self.place = place
        """The key under which the run has a (dotted) name; None where there is none of that name."""

    def compile(self, text: str) -> str:
        """Source text of a function for an expression; ValueError for unknown names."""
        tree = _Compiler(self).visit(_parse_expression(text))
        return f"lambda v: {ast.unparse(ast.fix_missing_locations(tree))}"

    def message(self, text: str) -> str:
        """Source text for a message with `{…}` expressions: the text, or a function that fills it."""
        parts = list(Formatter().parse(text))
        if all(expression is None for _, expression, _, _ in parts):
            return repr("".join(literal for literal, _, _, _ in parts))
        shape = "".join(
            literal.replace("{", "{{").replace("}", "}}")
            + ("" if expression is None else "{!" + conversion + "}" if conversion else "{}")
            for literal, expression, _, conversion in parts
        )
        bodies = [self.compile(one).partition(": ")[2] for _, one, _, _ in parts if one is not None]
        return f"lambda v: {shape!r}.format({', '.join(bodies)})"

    def read(self, text: str) -> list[str]:
        """Keys of the values that an expression reads, in order."""
        found: dict[str, None] = {}
        tree = _parse_expression(text)
        own = _bound_names(tree)
        for dotted, is_call in _chains(tree):
            if dotted.partition(".")[0] in own or self.is_function(dotted):
                continue
            key, _ = self.resolve(dotted, is_call=is_call)
            found[key] = None
        return list(found)

    def is_function(self, name: str) -> bool:
        """True if expressions may call a function of this name."""
        return name in self.context or name in self.builtins or name in self.functions

    def resolve(self, dotted: str, *, is_call: bool = False) -> tuple[str, str]:
        """Key of a dotted name, and the attribute or method taken from its value."""
        name, _, method = dotted.rpartition(".") if is_call else (dotted, "", "")
        key = self.place(name)
        if key is None:
            raise ValueError(f"nothing is called {name}")
        return key, method


def definitions(raw: dict[str, Any], known: Collection[str]) -> list[tuple[str, str]]:
    """Source text of each `name(parameters): expression` function; ValueError for unknown names."""
    found: list[tuple[str, str]] = []
    heads = {str(head): str(text) for head, text in raw.items() if head != LINE}
    names = {*known, *(head.partition("(")[0] for head in heads)}
    for head, text in heads.items():
        function = cast("ast.FunctionDef", ast.parse(f"def {head}: return 0").body[0])
        given = (*function.args.args, *((function.args.vararg,) if function.args.vararg is not None else ()))
        tree = _parse_expression(text)
        here = {*names, *(one.arg for one in given), *_bound_names(tree)}
        strange = [one.id for one in ast.walk(tree) if isinstance(one, ast.Name) and one.id not in here]
        if strange:
            raise ValueError(f"nothing is called {strange[0]}")
        found.append((function.name, f"def {head}: return {ast.unparse(tree)}"))
    return found


def _parse_expression(text: str) -> ast.Expression:
    try:
        return ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise ValueError(f"{text!r} is no expression: {error.msg}") from error


def _bound_names(tree: ast.AST) -> set[str]:
    """The names that a comprehension of the expression brings along."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _dotted_name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = _dotted_name(node.value)
        return None if head is None else f"{head}.{node.attr}"
    return None


def _chains(node: ast.AST) -> Iterator[tuple[str, bool]]:
    """Every dotted name, and whether it is called, from left to right."""
    called = isinstance(node, ast.Call)
    for child in ast.iter_child_nodes(node):
        dotted = _dotted_name(child) if isinstance(child, ast.expr) else None
        if dotted is not None:
            yield dotted, called and "." in dotted and child is getattr(node, "func", None)
        else:
            yield from _chains(child)


class _Compiler(ast.NodeTransformer):
    """Names become what the run answers for them."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.own: set[str] = set()

    def visit_Expression(self, node: ast.Expression) -> ast.expr:
        self.own = _bound_names(node)
        return self.visit(node.body)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Call with its function and arguments resolved; a quoted name is resolved too."""
        dotted = _dotted_name(node.func)
        method = dotted is not None and "." in dotted
        function = self._value(dotted, is_call=True) if method and dotted is not None else self.visit(node.func)
        if dotted in self.names.naming and node.args and isinstance(node.args[0], ast.Constant):
            node.args[0] = ast.Constant(self.names.resolve(str(node.args[0].value))[0])  # a name in quotes is one, too
        keywords = [ast.keyword(one.arg, self.visit(one.value)) for one in node.keywords]
        return ast.Call(function, [self.visit(one) for one in node.args], keywords)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        dotted = _dotted_name(node)
        return ast.Attribute(self.visit(node.value), node.attr, node.ctx) if dotted is None else self._value(dotted)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.own:
            return node
        return self._value(node.id)

    def _value(self, dotted: str, *, is_call: bool = False) -> ast.expr:
        """Syntax node for a dotted name: own variable, context, builtin, function or value lookup."""
        names = self.names
        run = ast.Name("v", ast.Load())
        head, _, tail = dotted.partition(".")
        if head in self.own:
            return _with_attributes(ast.Name(head, ast.Load()), tail)
        if dotted in names.context:
            return ast.Attribute(run, dotted, ast.Load())
        if dotted in names.builtins:
            return ast.Name(dotted, ast.Load())
        if dotted in names.functions:
            return ast.Attribute(ast.Name("f", ast.Load()), dotted, ast.Load())
        key, rest = names.resolve(dotted, is_call=is_call)
        return _with_attributes(ast.Subscript(run, ast.Constant(key), ast.Load()), rest)


def _with_attributes(node: ast.expr, dotted: str) -> ast.expr:
    for name in dotted.split(".") if dotted else ():
        node = ast.Attribute(node, name, ast.Load())
    return node
