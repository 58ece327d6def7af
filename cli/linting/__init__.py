"""The linter as a program: which files belong together, how they are read, checked, mended and reported."""
