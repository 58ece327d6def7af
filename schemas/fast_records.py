"""Replacements for parts of `typing` and `importlib` without their imports: a lint costs 2.5 starts of Python less.

Type checkers see the real `typing.NamedTuple` and `typing.cast`. At run time `NamedTuple` makes the same classes
(`_fields`, `_make`, `_replace`, `_asdict`, keywords, defaults) without compiling a constructor for each: there are
a hundred of them on the way of every lint. One thing is different: a record equals records of its own class only.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import NamedTuple as NamedTuple
    from typing import cast as cast
else:
    try:
        from _collections import _tuplegetter as _getter  # the standard library's own records use it, too
    except ImportError:
        from operator import itemgetter

        def _getter(place, name):
            return property(itemgetter(place), doc=name)

    def cast(_, value):
        """The value itself, as `typing.cast`."""
        return value

    _new = tuple.__new__
    _have_equal_values, _have_unequal_values = tuple.__eq__, tuple.__ne__
    # One constructor for each number of fields. A record's own is a copy with the names of its fields.
    _CONSTRUCTORS = (
        lambda _cls: _new(_cls, ()),
        lambda _cls, a: _new(_cls, (a,)),
        lambda _cls, a, b: _new(_cls, (a, b)),
        lambda _cls, a, b, c: _new(_cls, (a, b, c)),
        lambda _cls, a, b, c, d: _new(_cls, (a, b, c, d)),
        lambda _cls, a, b, c, d, e: _new(_cls, (a, b, c, d, e)),
        lambda _cls, a, b, c, d, e, f: _new(_cls, (a, b, c, d, e, f)),
        lambda _cls, a, b, c, d, e, f, g: _new(_cls, (a, b, c, d, e, f, g)),
        lambda _cls, a, b, c, d, e, f, g, h: _new(_cls, (a, b, c, d, e, f, g, h)),
        lambda _cls, a, b, c, d, e, f, g, h, i: _new(_cls, (a, b, c, d, e, f, g, h, i)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j: _new(_cls, (a, b, c, d, e, f, g, h, i, j)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k: _new(_cls, (a, b, c, d, e, f, g, h, i, j, k)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m: _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n: _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m, n)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n, o: _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m, n, o)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n, o, p: _new(
            _cls, (a, b, c, d, e, f, g, h, i, j, k, m, n, o, p)
        ),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q: _new(
            _cls, (a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q)
        ),
    )
    _function = type(_CONSTRUCTORS[0])  # `types.FunctionType`, without the import
    _GLOBALS = {"_new": _new, "__builtins__": {}}

    class _Maker(type):
        """Makes a tuple class of a class body: its annotations are the fields."""

        def __new__(cls, name, bases, body):
            if not bases:
                return type.__new__(cls, name, bases, body)
            fields = tuple(body.get("__annotations__", ()))
            defaults = tuple([body.pop(field) for field in fields if field in body])
            for place, field in enumerate(fields):
                body[field] = _getter(place, field)
            body.update(
                __new__=_constructor(fields, defaults),
                __match_args__=fields,
                _fields=fields,
                _field_defaults=dict(zip(fields[len(fields) - len(defaults) :], defaults)),  # noqa: B905 - 3.10's cost
            )
            return type(name, (tuple,), {**_SHARED, **body})

    def _constructor(fields, defaults):
        if len(fields) >= len(_CONSTRUCTORS):
            return _wide
        code = _CONSTRUCTORS[len(fields)].__code__.replace(co_varnames=("_cls", *fields))
        return _function(code, _GLOBALS, "__new__", defaults)

    def _wide(_cls, *values, **named):
        """For more fields than there is a constructor for: rare, and not worth compiling one."""
        known = {**_cls._field_defaults, **dict(zip(_cls._fields, values)), **named}  # noqa: B905 - counted below
        twice = named.keys() & set(_cls._fields[: len(values)])
        if len(values) > len(_cls._fields) or twice or known.keys() ^ set(_cls._fields):
            raise TypeError(f"{_cls.__name__} takes each of {', '.join(_cls._fields)} once, and those without default")
        return _new(_cls, map(known.get, _cls._fields))

    def _is_equal(self, other, /):
        """True if both have one class and equal values; a plain tuple has another class."""
        if type(other) is type(self):
            return _have_equal_values(self, other)
        return False if isinstance(other, tuple) else NotImplemented

    def _is_unequal(self, other, /):
        if type(other) is type(self):
            return _have_unequal_values(self, other)
        return True if isinstance(other, tuple) else NotImplemented

    def _replace(self, /, **changes):
        made = _new(type(self), map(changes.pop, self._fields, self))
        if changes:
            raise ValueError(f"Got unexpected field names: {list(changes)!r}")
        return made

    def _asdict(self):
        return dict(zip(self._fields, self))  # noqa: B905 - as many values as fields

    def _getnewargs(self):
        return tuple(self)

    def _repr(self):
        said = ", ".join(f"{field}={value!r}" for field, value in zip(self._fields, self))  # noqa: B905
        return f"{type(self).__name__}({said})"

    # What all records share, in each class: one more class to look at is a tenth of what making a class costs.
    _SHARED = {
        "__slots__": (),
        "__eq__": _is_equal,
        "__ne__": _is_unequal,
        "__hash__": tuple.__hash__,
        "__repr__": _repr,
        "__getnewargs__": _getnewargs,
        "_make": classmethod(_new),
        "_replace": _replace,
        "_asdict": _asdict,
    }

    class NamedTuple(metaclass=_Maker):
        """The base of a record, as `typing.NamedTuple`."""


def named_module(name: str, package: str | None) -> ModuleType:
    """The module of a name within a package, without `importlib`, whose package imports `warnings`."""
    whole = f"{package}.{name}"
    __import__(whole)
    return sys.modules[whole]
