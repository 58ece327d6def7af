"""Makers of the modules that a run loads in place of the authored tables: messages, versions, constants, rows."""
