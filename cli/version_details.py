"""`accmap --version --verbose`: what a bug report needs: the installation, Python, packages, encodings."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from ..schemas.border.text_output import say
from ..schemas.installation import installation
from ..schemas.versions import known_names
from .cache import directory

_PACKAGES = (
    *("pydantic", "PyYAML", "jsonschema", "typer", "tomli", "numpy", "xxhash", "pygls", "torch"),
    *("megatron-core", "mindspore", "mindformers", "mindstudio-probe"),
)
_VARIABLES = ("ACCMAP_CACHE_DIR", "ACCMAP_LANG", "NO_COLOR", "FORCE_COLOR", "LANG", "LC_ALL", "PYTHONUTF8")


def tell_about() -> None:
    """Print the facts on the installation, one a line."""
    for name, value in about().items():
        say(f"{name}: {value}")


def about() -> dict[str, str]:
    """Facts on the installation by name, such as the versions of Python, of accmap and of packages."""
    found = installation()
    rows = {
        "installed from": f"{found.kind} {found.place}".rstrip(),
        "python": f"{platform.python_version()} ({platform.python_implementation()}) {sys.executable}",
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
        "encodings": f"stdout {sys.stdout.encoding}, files {sys.getfilesystemencoding()}",
        "cache": directory() or "none",
        "versions of Megatron-LM": known_names("megatron"),
        "versions of MindSpore Transformers": known_names("mindformers"),
    }
    rows.update({package: _installed_version(package) for package in _PACKAGES})
    rows.update({name: os.environ[name] for name in _VARIABLES if name in os.environ})
    return rows


def _installed_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
