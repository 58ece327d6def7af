"""`python -m accmap`: the command line."""

from accmap.cli.lean import main

if __name__ == "__main__":
    raise SystemExit(main())
