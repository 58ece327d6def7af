"""Checkpoints of both frameworks: conversion in both directions, and checks against each other or a configuration.

A checkpoint of any form is read into one model: every parameter under the name that the weight table gives it
(Megatron-Core's, unsharded, expert by expert), as a `Weight` whose numbers are read only when they are asked for.
Writing takes the same model and lays it out for the other framework, and a check compares two such models.

    megatron_torch, megatron_dist, mindformers_files  ──▶  Model  ──▶  the same modules  ──▶  target_files
                                                             ▲
                                         mapper.weights, mapper.weight_layout (names, shapes, arrangement)

- Nothing is unpickled. `checkpoint_pickle` follows the instructions of a pickle with inert records in the place of
  every class and refuses one that names anything a checkpoint does not need; `tensor_files` finds the raw bytes of
  tensors in torch's zip container, and reads and writes safetensors. Only numpy is needed, bfloat16 is kept as the
  16 bits it is.
- `megatron_torch` cuts a pipeline as Megatron-LM does. `tensor_files` writes what torch reads without torch;
  a distributed checkpoint's `.metadata` is known before any number is read, since every piece's length is.
- `model` compares what stands in a checkpoint more than once; a conversion that would have to choose one stops.
- Memory is bounded by the largest single Megatron-Core parameter: a `Weight` is read and written in consecutive blocks.
- `target_files` puts each file in place whole, by rename, with its checksum in a manifest; an interrupted run continues
  from there.
- What a checkpoint holds beside its weights (optimizer state, counters) is named and left out; a weight that no row
  of the table knows stops the conversion.
"""
