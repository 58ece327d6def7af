"""What corresponds to what: tables by topic, the model families, and their loader."""
