"""Reads a YAML document with the place of every value: a fast path for plain files, PyYAML for all others."""
