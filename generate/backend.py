"""The build backend: setuptools, after the products are made; nothing is fetched."""

from __future__ import annotations

import os
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

from .checkout import ROOT, import_from_checkout
from .products import INDEX_README, index_readme, write

__all__ = [
    "build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable", "get_requires_for_build_sdist",
    "get_requires_for_build_wheel", "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel",
]  # fmt: skip


def build_wheel(*arguments: Any, **options: Any) -> str:
    """Make the generated files and build a wheel with setuptools; all files get one fixed time."""
    os.environ.setdefault("SOURCE_DATE_EPOCH", "315532800")  # the first time that a zip archive can hold
    _make()
    return build_meta.build_wheel(*arguments, **options)


def build_editable(*arguments: Any, **options: Any) -> str:
    """Make the generated files and build an editable wheel with setuptools."""
    _make()
    return build_meta.build_editable(*arguments, **options)


def build_sdist(*arguments: Any, **options: Any) -> str:
    """Make the generated files and build a source distribution with setuptools."""
    _make()
    return build_meta.build_sdist(*arguments, **options)


def prepare_metadata_for_build_wheel(*arguments: Any, **options: Any) -> str:
    """Write the README of the index page and let setuptools prepare the metadata of a wheel."""
    _write_readme()
    return build_meta.prepare_metadata_for_build_wheel(*arguments, **options)


def prepare_metadata_for_build_editable(*arguments: Any, **options: Any) -> str:
    """Write the README of the index page and let setuptools prepare the metadata of an editable wheel."""
    _write_readme()
    return build_meta.prepare_metadata_for_build_editable(*arguments, **options)


def _write_readme() -> None:
    (ROOT / INDEX_README).write_text(index_readme(), "utf-8")


def _make() -> None:
    import_from_checkout()
    write()
