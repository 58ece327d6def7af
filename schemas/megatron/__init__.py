"""Megatron-LM: arguments by version, and what they become after validation."""
