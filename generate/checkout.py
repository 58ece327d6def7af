"""Makes the rooms of this checkout importable as `accmap`, whatever is installed."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def import_from_checkout() -> None:
    """From here on, `import accmap.schemas` is the folder `schemas` beside this one."""
    spec = spec_from_file_location(
        "accmap", ROOT / "api" / "__init__.py", submodule_search_locations=[str(ROOT / "api"), str(ROOT)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{ROOT} is no checkout of accmap: api/__init__.py is missing")
    module = module_from_spec(spec)
    sys.modules["accmap"] = module
    spec.loader.exec_module(module)
