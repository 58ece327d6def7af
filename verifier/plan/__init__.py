"""The small pair: sizes, files and everything that both frameworks are asked to compute."""
