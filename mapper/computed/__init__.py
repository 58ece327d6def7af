"""Computed quantities: what a framework's own formulas make of a configuration; the second way to a verdict."""
