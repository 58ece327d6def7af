"""Dumped tensors: the configurations that take them, and the comparison that names the first divergence."""
