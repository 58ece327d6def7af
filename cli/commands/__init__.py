"""The commands: one module each, with a function `run` that answers with the exit code."""
