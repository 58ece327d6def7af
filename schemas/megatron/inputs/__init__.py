"""Files beside launch scripts that hold Megatron-LM arguments: lists, logs, recipes and YAML of other programs."""
