"""MindSpore Transformers' side: the job made of a YAML, and the real models of each graph on MindSpore's CPU target."""
