"""Precision alignment: the settings under which two frameworks are compared first, and the way back to the real run."""
