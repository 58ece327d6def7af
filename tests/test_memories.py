"""Whatever a process keeps from one file to the next is listed here, with what decides the value that is kept.

A value that depends on a file's content, its name or the order of files must not be kept.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("api", "cli", "evidence", "mapper", "mappings", "rules", "schemas", "verifier")
CHANGES = frozenset((
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault",
    "update",
))  # fmt: skip
CACHES = frozenset(("cache", "lru_cache", "functools.cache", "functools.lru_cache", "cached_property"))

TABLE = "a shipped table, which is the same for all files"
VERSION = "shipped facts of a version, by its name"
TEXT = "what a text is by itself, by the text"
KEY = "what a key is by itself, by the key"
AT_HAND = "the very object that it was made of, by its identity while it is held"
COMMAND = "the state of the command at hand, which begins anew with each"
WRITING = "the files that this process is about to write, each until it is whole"
ARGUMENTS = "a function of shipped tables and of all its arguments"
DEVELOPERS = "a program of developers, which reads one tree"
MEMORIES: dict[str, str] = {
    "cli/configuration.py:_parts": TEXT,
    "schemas/border/file_output.py:_half_written": WRITING,
    "cli/options.py:_every": TABLE,
    "cli/pages/html_page.py:_file": TABLE,
    "cli/pages/html_page.py:_style": TABLE,
    "cli/pages/html_page.py:_templates": TABLE,
    "cli/reference/key_search.py:_known": TABLE,
    "cli/reference/key_search.py:_megatron_twins": ARGUMENTS,
    "cli/reference/key_search.py:_fork_options": TABLE,
    "cli/reference/key_search.py:_row_paths": TABLE,
    "cli/reference/key_search.py:_row_arguments": TABLE,
    "cli/reference/key_search.py:_rows_by_field": TABLE,
    "cli/reference/key_search.py:_rows_by_key": ARGUMENTS,
    "cli/reference/key_search.py:_rows_by_word": TABLE,
    "cli/reference/key_search.py:plain_path": TEXT,
    "cli/reference/section_explanation.py:_row_of": TABLE,
    "cli/reference/section_explanation.py:_alias_paths": TABLE,
    "cli/reference/section_explanation.py:_section_keys": TABLE,
    "cli/reference/section_explanation.py:_sample": TABLE,
    "cli/reference/word_search.py:_texts": TABLE,
    "cli/progress.py:_busy_with": COMMAND,
    "cli/progress.py:_began_bytes": COMMAND,
    "cli/progress.py:_language": COMMAND,
    "evidence/data/tokenizer.py:_LETTERS": TABLE,
    "evidence/dump/config.py:_table": TABLE,
    "evidence/dump/config.py:_words": TABLE,
    "evidence/dump/compare_names.py:module_table": TABLE,
    "evidence/dump/compare_names.py:shared_modules": TABLE,
    "evidence/environment.py:version_table": TABLE,
    "evidence/logs/event_files.py:_TABLE": TABLE,
    "evidence/playbook/plan.py:patches": TABLE,
    "evidence/playbook/plan.py:stages": TABLE,
    "evidence/weights/weight.py:_eight_bit_values": ARGUMENTS,
    "mapper/align/pair.py:_readme_words": TABLE,
    "mapper/computed/results.py:_FOREIGN_PHRASES": TABLE,
    "mapper/translate/update.py:_FIRST_KEYS": VERSION,
    "mapper/align/ladder.py:alignment_table": TABLE,
    "mapper/families.py:_families": TABLE,
    "mapper/weights.py:_huggingface_others": TABLE,
    "mapper/weights.py:_huggingface_rows": ARGUMENTS,
    "mapper/weights.py:parts_of": ARGUMENTS,
    "mapper/mapping_rows.py:_page_words": TABLE,
    "mapper/recipe/reading.py:_recent": AT_HAND,
    "mapper/translate/editors.py:_paths": AT_HAND,
    "mapper/recipe/reading.py:_driving": ARGUMENTS,
    "mapper/recipe/reading.py:_plans": ARGUMENTS,
    "mapper/recipe/vocabulary.py:_vocabulary": TABLE,
    "mapper/weights.py:_aliases_of_framework": ARGUMENTS,
    "mapper/weights.py:_other_patterns": ARGUMENTS,
    "mapper/weights.py:_renames_of_framework": ARGUMENTS,
    "mapper/weights.py:_split_patterns": TABLE,
    "mapper/weights.py:_every_expert": ARGUMENTS,
    "mapper/preconditions.py:_loaded": TABLE,
    "mappings/tables.py:_arrays": TABLE,
    "mappings/tables.py:_notes": TABLE,
    "mappings/tables.py:_rows_of": TABLE,
    "mappings/tables.py:_sides": ARGUMENTS,
    "mappings/tables.py:_tables": TABLE,
    "rules/adjustments.py:_fields_of_keys": TABLE,
    "rules/adjustments.py:_KEY_NAMES": ARGUMENTS,
    "mappings/transformer_config.py:_loaded": TABLE,
    "rules/catalog/computed_quantities.py:_ROWS": ARGUMENTS,
    "rules/engine.py:_functions": "a function of a module, by both names",
    "rules/catalog/files.py:_filled_in": TEXT,
    "rules/places.py:_kept": AT_HAND,
    "rules/places.py:_sections": KEY,
    "rules/places.py:_written": ARGUMENTS,
    "rules/registry.py:_applying": ARGUMENTS,
    "rules/registry.py:_compared": ARGUMENTS,
    "rules/registry.py:_rules": ARGUMENTS,
    "rules/source_links.py:_link_table": TABLE,
    "rules/source_links.py:_tags": TABLE,
    "schemas/border/inputs.py:_current": COMMAND,
    "schemas/border/text_output.py:_SHOWN": "how a character is shown; marks of colour are taken out before a command",
    "schemas/border/text_output.py:_answering": COMMAND,
    "schemas/border/text_output.py:_encoders": ARGUMENTS,
    "schemas/border/text_output.py:_standing": COMMAND,
    "schemas/megatron/catalog.py:_loaded": VERSION,
    "schemas/megatron/dialects.py:_described_by": "a user's dialect, by the path and the whole text of its file",
    "schemas/megatron/dialects.py:_shipped": "a dialect that comes with accmap, by its name",
    "schemas/megatron/effective.py:_known": AT_HAND,
    "schemas/megatron/facts/parser_dump.py:CALLABLES": DEVELOPERS,
    "schemas/megatron/facts/parser_dump.py:GUESSED": DEVELOPERS,
    "schemas/megatron/facts/parser_dump.py:Inherited": DEVELOPERS,
    "schemas/megatron/facts/extract_dialect.py:_parse_file": DEVELOPERS,
    "schemas/megatron/models.py:_arguments_model": VERSION,
    "schemas/megatron/validation.py:_before_building": VERSION,
    "schemas/mindformers/fact_base.py:_stored_facts": DEVELOPERS,
    "schemas/mindformers/fact_base.py:_stored_judgements": DEVELOPERS,
    "schemas/mindformers/models.py:_dynamic_model": VERSION,
    "schemas/mindformers/models.py:_static_model": VERSION,
    "schemas/mindformers/config_state.py:_defaults": ARGUMENTS,
    "schemas/mindformers/config_state.py:_steps": KEY,
    "schemas/mindformers/network.py:_defaults": AT_HAND,
    "schemas/suggestion.py:_bits": TEXT,
    "schemas/suggestion.py:_known": TEXT,
    "schemas/versions.py:_numbers": TEXT,
    "schemas/yaml_reader/fast_path.py:_names": TEXT,
    "schemas/yaml_reader/fast_path.py:_scalars": TEXT,
    "schemas/yaml_reader/document.py:_recent": AT_HAND,
}


def _base(node: ast.expr) -> str:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, (ast.Assign, ast.Delete)):
        return node.targets
    return [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else []


def memories(source: str) -> set[str]:
    """The names of a module that its functions change, and the functions whose answers are kept."""
    tree = ast.parse(source)
    own = {_base(target) for node in tree.body for target in _targets(node)}
    own |= {node.name for node in tree.body if isinstance(node, ast.ClassDef)} | {"cls"}
    own.discard("")
    found: set[str] = set()
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for function in functions:
        found |= {function.name for one in function.decorator_list if _decorator(one) in CACHES}
        for node in ast.walk(function):
            changed = [_base(one) for one in _targets(node) if not isinstance(one, ast.Name)]
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
                changed.append(_base(node.func.value))
            found |= own.intersection(changed)
            if isinstance(node, ast.Global):
                found.update(node.names)
    return found


def _decorator(node: ast.expr) -> str:
    return ast.unparse(node.func if isinstance(node, ast.Call) else node)


def test_every_memory_of_the_process_is_known() -> None:
    found: set[str] = set()
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            if not path.name.startswith("compile") and not path.name.endswith("_compiled.py"):
                name = path.relative_to(ROOT).as_posix()
                found |= {f"{name}:{memory}" for memory in memories(path.read_text("utf-8"))}
    assert found == set(MEMORIES)


def test_the_search_finds_each_kind() -> None:
    text = "a = {}\nb = []\nc = 1\ndef f():\n    a[1] = 2\n    b.append(1)\n    global c\n    c = 2\n"
    assert memories(text) == {"a", "b", "c"}
    assert memories("from functools import cache\n@cache\ndef g(x):\n    return x\n") == {"g"}
    assert memories("class A:\n    x = 1\n    def f(self):\n        A.x = 2\n") == {"A"}
    assert memories("a = {}\ndef f(a):\n    b = a.get(1)\n    b2 = {}\n    b2[1] = 2\n") == set()
