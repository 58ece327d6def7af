"""Launch scripts: what bash would hand to the training program, found by reading alone."""
