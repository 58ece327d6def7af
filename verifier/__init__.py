"""Both real models on small inputs: the last word before a launch."""
