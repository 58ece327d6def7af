"""The build backend: setuptools, after the products are made; nothing is fetched."""

from __future__ import annotations

from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

from .checkout import import_from_checkout

__all__ = [
    "build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable", "get_requires_for_build_sdist",
    "get_requires_for_build_wheel", "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel",
]  # fmt: skip


def build_wheel(*arguments: Any, **options: Any) -> str:
    """As setuptools does."""
    _make()
    return build_meta.build_wheel(*arguments, **options)


def build_editable(*arguments: Any, **options: Any) -> str:
    """As setuptools does."""
    _make()
    return build_meta.build_editable(*arguments, **options)


def build_sdist(*arguments: Any, **options: Any) -> str:
    """As setuptools does."""
    _make()
    return build_meta.build_sdist(*arguments, **options)


def _make() -> None:
    import_from_checkout()
    from .products import write

    write()
