"""Hugging Face: what a model's `config.json` says, with the defaults of the configuration class that reads it."""
