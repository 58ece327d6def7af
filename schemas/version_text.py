"""The version of a framework as people write it: `1.9`, `1.9.0`, `v1.9.0`, `core_r0.12.0`."""

from __future__ import annotations


def release_of(text: str | None) -> str | None:
    """`0.15.3` of `core_v0.15.3`; None for what is no one release: a minor version, a branch, a release candidate."""
    number = (text or "").strip().removeprefix("core_").removeprefix("v")
    parts = number.split(".")
    return number if len(parts) >= 3 and all(part.isascii() and part.isdigit() for part in parts) else None


def minor_of(text: str) -> str | None:
    """`1.9` of `r1.9.0rc1`: two numbers, and a patch that begins with a digit; None where the text is no version."""
    parts = text.strip().removeprefix("core_").lstrip("rv").split(".")
    if len(parts) < 2 or not all(part.isascii() and part.isdigit() for part in parts[:2]):
        return None
    if len(parts) > 2 and not parts[2][:1].isdigit():
        return None
    return ".".join(parts[:2])


def names_a_file(text: str) -> bool:
    """Whether what stands for a version is a file that describes a dialect."""
    return text.endswith((".yaml", ".yml"))
