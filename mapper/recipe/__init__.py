"""The recipe: the vocabulary in which both frameworks meet, and what a file says in it."""
