"""The recipe, the lenses, the schedule curves and the translation in both directions."""
