"""Tables of the keys that correspond in both frameworks, by topic; the model families, and their loader."""
