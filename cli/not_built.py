"""What a checkout says whose products are missing, its catalogues perhaps among them: so the words stand here."""

from __future__ import annotations

_SAID = (
    "accmap: this checkout is not built ({name} is missing): run `python -m generate` in it, or `pip install -e .`",
    "accmap: 此检出尚未构建（缺少 {name}）：请在其中运行 `python -m generate` 或 `pip install -e .`",
)


def is_not_built(error: Exception) -> bool:
    """Whether a product is what could not be imported."""
    return isinstance(error, ModuleNotFoundError) and str(error.name).endswith("_compiled")


def not_built(name: str | None, language: str) -> str:
    """Which module is missing, and how it is made."""
    return _SAID[language == "zh"].format(name=name)
