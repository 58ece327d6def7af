"""Evidence from real runs: training logs, dumps, weights, data, the environment, inference.

The configuration is where two runs begin to agree; this room looks at what they then did. Each part reads what the
frameworks wrote (never executing or unpickling anything), puts both sides into the shared vocabulary, and answers
with the same exit codes as the rest: equal, different with the first place where they part, or unreadable.
"""
