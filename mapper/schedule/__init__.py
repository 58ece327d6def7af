"""Learning rate, weight decay and loss scale as functions of the step, for both frameworks, exactly.

Step 0 is the first update: Megatron's iteration i is MindSpore Transformers' `global_step` i.

=================  ===========================================================================================
module             what to call
=================  ===========================================================================================
`from_config`      `schedule_of(config, steps)`: the `Schedule` of a file that a reader has read
`megatron`         `MegatronParameters`, `megatron_schedule(parameters)`: its scheduler and gradient scalers
`mindformers`      `MindFormersParameters`, `mindformers_schedule(parameters)`: every class of the lr registry
`comparison`       `compare(a, b, steps)`: where two curves part and by how much, without walking the steps
`explanation`      `explain(a, b, comparison)`: why they part; `summary(...)`: the sentence for a person
`equivalents`      `nearest_mindformers(schedule)`, `nearest_megatron(schedule)`: the equal settings, or the nearest
`curve`            `Curve`, `Schedule`, `Traits`: the shared types; `shared_steps`, `sample_steps`
`problems`         what can be wrong or worth knowing: messages with numbers as a person writes them
=================  ===========================================================================================

A curve is known in two ways. `Curve.value(step)` computes in the framework's own arithmetic and order (float64 in
Megatron-LM, float32 in MindSpore). `Curve.pieces` are the formulas behind it, in real numbers; comparison works on
those and adds what the arithmetic can do. Nothing here imports more than `math`, `struct`, `heapq` and `bisect`.
"""
