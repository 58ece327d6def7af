"""Every code's page has its five parts in both languages, and a source that can be read somewhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from accmap.rules.pages import every_page, heading, page
from accmap.rules.source_links import link_of

if TYPE_CHECKING:
    from accmap.schemas.diagnostic import Language

PARTS = ("what", "why", "example", "instead", "source")
LANGUAGES: tuple[Language, Language] = ("en", "zh")


@pytest.mark.table(5)
@pytest.mark.parametrize("code", sorted(every_page()))
def test_page(code: str) -> None:
    for language in LANGUAGES:
        found = page(code, language)
        assert found is not None
        sections = dict(found.sections)
        for part in PARTS:
            assert sections.get(heading(part, language), "").strip(), f"{code}: {part} ({language})"
        assert re.search(r": https://\S+$|^- (accmap|tests/|mappings/)", sections[heading("source", language)], re.M), (
            code
        )
        said = sections[heading("what", language)] + sections[heading("why", language)]
        assert (re.search("[\u4e00-\u9fff]", said) is not None) == (language == "zh"), code


@pytest.mark.parametrize(
    ("source", "address"),
    [
        (
            "megatron 0.12 training/arguments.py:validate_args",
            "https://github.com/NVIDIA/Megatron-LM/blob/core_v0.12.0/megatron/training/arguments.py",
        ),
        (
            "megatron 0.12 to 0.19 pretrain_gpt.py",
            "https://github.com/NVIDIA/Megatron-LM/blob/core_v0.12.0/pretrain_gpt.py",
        ),
        (
            "mindformers 1.9.0 parallel_core/transformer_config.py: measured",
            "https://github.com/mindspore-ai/mindformers/blob/v1.9.0/mindformers/parallel_core/transformer_config.py",
        ),
        ("mindformers 1.9.0 models/*: some classes", "https://github.com/mindspore-ai/mindformers/tree/v1.9.0"),
        ("mindformers 2.1.0 pynative models", "https://pypi.org/project/mindformers/2.1.0/"),
        (
            "mindformers 2.0.0 pynative/trainer/trainer.py:Trainer",
            "https://github.com/mindspore-ai/mindformers/blob/r2.0.0/mindformers/pynative/trainer/trainer.py",
        ),
        ("Megatron-LM pull request #2237", "https://github.com/NVIDIA/Megatron-LM/pull/2237"),
        ("Megatron-LM issue #7452", "https://github.com/NVIDIA/Megatron-LM/issues/7452"),
        ("Transformer Engine issue #1616", "https://github.com/NVIDIA/TransformerEngine/issues/1616"),
        (
            "transformer_engine 2.3 pytorch/fp8.py:FP8GlobalStateManager.restore_fp8_meta_tensors",
            "https://github.com/NVIDIA/TransformerEngine/blob/v2.3/transformer_engine/pytorch/fp8.py",
        ),
        ("commit f6e0d425a5", "https://github.com/NVIDIA/Megatron-LM/commit/f6e0d425a5"),
        ("MindSpeed-LLM commit dcee434d", "https://github.com/Ascend/MindSpeed-LLM/commit/dcee434d"),
        ("Megatron-LM merge request 2800", None),
    ],
)
def test_links(source: str, address: str | None) -> None:
    assert link_of(source) == address
