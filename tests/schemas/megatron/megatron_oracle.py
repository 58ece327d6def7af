"""Runs a Megatron-LM tree's own functions up to `TransformerConfig` on a machine without a GPU, as the oracle.

`python megatron_oracle.py TREE` reads one JSON job a line (`argv`, `world_size`, `env`) and answers with one JSON
line each: `values` (the namespace after validation), or `refused`, which `parse_args`, `validate_args` or
`core_transformer_config_from_args` did. The first line answers the parser's defaults. They are run as `accmap verify`
runs them (`verifier/megatron/parser.py`); what stands in for a GPU stays for as long as the process lives.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import io
import json
import sys
import typing
import warnings

from accmap.verifier.megatron import parser
from accmap.verifier.worker.blueprint import LaunchPlan
from accmap.verifier.worker.patches import inert_triton

if typing.TYPE_CHECKING:
    import types

_BLOCK = contextlib.ExitStack()
atexit.register(_BLOCK.close)


def prepare(tree: str) -> types.ModuleType:
    warnings.simplefilter("ignore")
    sys.path.insert(0, tree)
    import torch
    import torch._dynamo

    torch.compile = lambda *given, **_: given[0] if given and callable(given[0]) else lambda function: function
    _BLOCK.enter_context(inert_triton())
    arguments = parser.import_arguments()
    _BLOCK.enter_context(parser.pretend_gpu(arguments))
    return arguments


def with_kernels() -> None:
    """Stand-ins for the kernels whose presence the class asks for."""
    for module, name, value in parser.kernels():
        setattr(module, name, value)


def main() -> None:
    output = sys.stdout
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        arguments = prepare(sys.argv[1])
        parser = arguments.add_megatron_arguments(argparse.ArgumentParser(allow_abbrev=False))
        defaults = parser.values_of(parser.parse_args([]))
        print(json.dumps(defaults), file=output, flush=True)
        for line in sys.stdin:
            job = json.loads(line)
            plan = LaunchPlan(tuple(job["argv"]), job["world_size"], job["env"], job.get("defaults", {}))
            found = parser.answer_launch(plan)
            told = found if "values" in found else {"refused": next(iter(found.values()))}
            print(json.dumps(told), file=output, flush=True)


if __name__ == "__main__":
    main()
