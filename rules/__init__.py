"""The linter: the accuracy checklists, and what the frameworks' code showed, as rules over one file or a pair."""
