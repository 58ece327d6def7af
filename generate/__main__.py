"""`python -m generate` writes every product; `--check` says which are stale and ends with 1."""

from __future__ import annotations

import sys

from .checkout import import_from_checkout


def main(words: list[str]) -> int:
    """Write, or check; the exit code."""
    if words not in ([], ["--check"]):
        print("python -m generate [--check]")
        return 2
    import_from_checkout()
    from .products import stale, write

    paths = stale() if words else write()
    for path in paths:
        print(path)
    return 1 if words and paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
