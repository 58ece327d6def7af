"""MindSpore Transformers: the YAML by dialect and version, and what it resolves to."""
