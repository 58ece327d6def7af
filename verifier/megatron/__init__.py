"""Megatron-LM's side: the job made of a launch, and the real model, optimizer, trainer and data sets that do it."""
