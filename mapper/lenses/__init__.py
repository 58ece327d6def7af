"""Named two-way transforms between a framework's values and the recipe."""
