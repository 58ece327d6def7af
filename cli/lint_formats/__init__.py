"""Formats of `accmap lint`, imported only when they are asked for."""
