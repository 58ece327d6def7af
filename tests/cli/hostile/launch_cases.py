"""Inputs that somebody might give to accmap and should not have: files, names, places, settings, outputs."""

from __future__ import annotations

import os
import re
import socket
import stat
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from case import Case, words_of

LAUNCH = (
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 "
    "--seq-length 128 --max-position-embeddings 128 --micro-batch-size 1 --global-batch-size 16 --train-iters 1000 "
    "--lr 1e-4 --min-lr 1e-5 --lr-decay-style cosine --lr-warmup-iters 100 --bf16 "
    "--tokenizer-type NullTokenizer --vocab-size 511 --data-path /data/a"
)
GOOD_SCRIPT = f"#!/bin/bash\n{LAUNCH}\n"
GOOD_YAML = (
    "seed: 1\nrun_mode: 'train'\nuse_legacy: False\nmodel:\n  model_config:\n    model_type: qwen3\n"
    "    num_hidden_layers: 2\n    hidden_size: 64\n    num_attention_heads: 4\n"
    "lr_schedule:\n  type: CosineWithWarmUpLR\n  learning_rate: 1.e-4\n  lr_end: 1.e-5\n  warmup_steps: 100\n"
    "  total_steps: 1000\noptimizer:\n  type: AdamW\n  weight_decay: 0.01\n"
)
MODEL = (
    '{"model_type": "deepseek_v3", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8, '
    '"num_nextn_predict_layers": 1, "max_position_embeddings": 4096, "q_lora_rank": 64, "kv_lora_rank": 32, '
    '"qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32, "vocab_size": 32000, "n_routed_experts": 16, '
    '"rope_scaling": {"type": "yarn", "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0, "beta_fast": 32, '
    '"beta_slow": 1, "original_max_position_embeddings": 1024}}'
)
DEEP = 20_000


def _cases(name: str, lines: str, files: dict[str, bytes | str], **more: object) -> list[Case]:
    return [Case(f"{name}: {line.strip()}", words_of(line), files, **more) for line in lines.split(",")]  # type: ignore[arg-type]


def _with(name: str, value: str) -> str:
    return f"#!/bin/bash\n{LAUNCH} {name} {value}\n"


READ = "show x.sh, recipe x.sh --format json, lint x.sh --no-cache, convert x.sh"
READ_YAML = "show x.yaml, recipe x.yaml --format json, lint x.yaml good.sh --no-cache, convert x.yaml, lr x.yaml"


def scripts() -> list[Case]:
    """Shells that count, repeat, nest or read."""
    found: list[Case] = []
    texts = {
        "sourcing standard input": f"source /dev/stdin\n{LAUNCH}",
        "sourcing a device": f"source /dev/zero\n. /dev/urandom\n{LAUNCH}",
        "sourcing itself": f"source x.sh\n. ./x.sh\nsource $0\n{LAUNCH}",
        "reading a device": f"x=$(cat /dev/zero)\nread y < /dev/tty\nmapfile z < /dev/zero\n{LAUNCH} --lr $x",
        "reading from a process": f"source <(yes)\nx=$(< /dev/zero)\n{LAUNCH}",
        "a function that calls itself": f"f() {{ f; f; }}; f\n{LAUNCH}",
        "a bomb of forks": f":(){{ :|:& }};:\n{LAUNCH}",
        "braces": f"x={{{','.join('ab' * 10)}}}\necho {'{0..9}' * 12}\n{LAUNCH} --data-path {'{a,b}' * 30}",
        "a range": f"for i in {{1..99999999999}}; do :; done\n{LAUNCH} --exit-interval $((2**63)) {{1..10000000}}",
        "a loop": f"while true; do x=$x.; done\n{LAUNCH}",
        "doubling": "x=xx\n" + "x=$x$x\n" * 60 + LAUNCH + " --data-path $x",
        "arithmetic": "x=$((" + "9**" * 3000 + "9))\n" + LAUNCH + " --seed $x",
        "nested arithmetic": "x=$((" + "(" * DEEP + "1" + ")" * DEEP + "))\n" + LAUNCH,
        "nested substitutions": "x=" + "$(echo " * 3000 + ")" * 3000 + "\n" + LAUNCH,
        "nested quotes": 'x="' + '$("' * 3000 + "\n" + LAUNCH,
        "nested conditions": "if true; then\n" * 3000 + LAUNCH + "\nfi" * 3000,
        "nested cases": "case x in x)\n" * 2000 + LAUNCH + "\nesac" * 2000,
        "a here-document without end": f"cat <<'EOF'\n{LAUNCH}\n" * 500,
        "continuations": "torchrun pretrain_gpt.py \\\n" * 50_000,
        "one line": LAUNCH + " x" * 400_000,
        "long word": LAUNCH + " --data-path " + "x" * 3_000_000,
        "many flags": LAUNCH + "".join(f" --flag-{n} {n}" for n in range(5_000)),
        "many launches": "\n".join([LAUNCH] * 400),
        "many functions": "\n".join(f"f{n}() {{ f{n + 1}; }}" for n in range(3000)) + f"\nf0\n{LAUNCH}",
        "an array": "x=(" + "a " * 300_000 + ')\necho "${x[@]}"\n' + LAUNCH,
        "evil patterns": 'x=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\necho "${x//*a*a*a*a*a*a*a*b/}" "${x##+(a|a|a)b}"\n'
         "shopt -s extglob\n" + LAUNCH + ' --data-path "${x/+(*(a))b/}"',
        "an evil expression": "[[ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa =~ ^(a+)+(a+)+b$ ]] && x=1\n" + LAUNCH,
        "printf": f"x=$(printf '%999999999d' 1)\ny=$(printf '%.*f' 99999999 1)\n{LAUNCH} --data-path $x$y",
        "seq": f"for i in $(seq 1 1000000000); do x=$i; done\n{LAUNCH}",
        "carriage returns": LAUNCH.replace(" ", "\r") + "\r",
        "no end of line and a backslash": LAUNCH + " \\",
        "a nul": LAUNCH + " \0 --seed 1",
        "control characters": LAUNCH + " --data-path $'\\x1b[2J\\e]0;x\\a'",
        "digits in other scripts": LAUNCH + " --seed ²³ --exit-interval ٣ --nnodes １",
        "home of somebody": f"source ~root/.bashrc ~nobody/x\ncd ~{'x' * 5000}\n{LAUNCH}",
    }  # fmt: skip
    for name, text in texts.items():
        line = READ if len(text) < 100_000 else "lint x.sh --no-cache"
        found += _cases(name, line, {"x.sh": f"#!/bin/bash\n{text}\n"})
    numbers = {
        "0x" + "f" * 4000: "--seed", "9" * 5000: "--num-layers", "1e999999": "--lr", "-1e-999999": "--min-lr",
        "nan": "--lr", "inf": "--lr", "1_000": "--train-iters", "0b1": "--seed", "1" + "0" * 400: "--hidden-size",
        "1e400": "--weight-decay", "99999999999999999999": "--train-iters", "-5": "--train-iters", "0": "--seq-length",
        "''": "--lr", "²": "--seed", "10**5000": "--lr", "٣": "--num-layers",
        "0:1e400": "--step-batch-size-schedule", "1e500": "--step-batch-size-schedule",
    }  # fmt: skip
    for value, flag in numbers.items():
        found += _cases(
            f"{flag} {value[:12]}",
            "lint x.sh good.yaml --no-cache, lr x.sh --format json, convert x.sh",
            {"x.sh": _with(flag, value)},
        )
    return found


START = "\ntorchrun pretrain_gpt.py --num-layers 2\n"
BOUNDED = {
    "parentheses": "(" * 10_000,
    "substitutions": "$(" * 10_000,
    "backticks": "`" * 10_000,
    "expansions": "${x:-" * 10_000,
    "arithmetic": "x=$((" + "(" * 10_000 + "1" + ")" * 10_000 + "))" + START,
    "braces": "echo " + "{a," * 10_000 + "}" * 10_000 + START,
    "ifs": "if " * 10_000,
    "quotes": '"$(' * 10_000,
    "conditions": "[[ " + "( " * 10_000 + "a" + " )" * 10_000 + " ]]" + START,
    "negations": "[ " + "! " * 10_000 + "a ]" + START,
    "a long sequence": "echo {1..999999999}" + START,
    "a product of braces": "echo " + "{a,b}" * 40 + START,
    "doubling": "x=aaaa\nfor i in {1..60}; do x=$x$x; done" + START,
    "a doubling array": 'x=(a b)\nfor i in {1..60}; do x=("${x[@]}" "${x[@]}"); done' + START,
    "an endless for": "for ((;;)); do x=$x; done" + START,
    "branching recursion": "f() { if [ -f a ]; then f; else f; fi; }; f" + START,
    "recursion in a substitution": "f() { x=$(f); }; f" + START,
    "eval of itself": 'x=\'eval "$x"\'; eval "$x"' + START,
    "exponential arithmetic": ";".join([f"x{n}=x{n + 1}+x{n + 1}" for n in range(40)]) + "; echo $((x0))" + START,
    "a regular expression bomb": "x=" + "a" * 400 + "\n[[ $x =~ (a|a)*b ]]" + START,
    "a pattern bomb": "x=" + "a" * 400 + "\ncase $x in *a*a*[ab]*a*a*a*a*a*b) ;; esac" + START,
    "a power tower": 'x=$(echo "9^9^9^9" | bc); y=$((2**9**9**9))' + START,
    "a wide number": 'x=$(printf "%0999999999d" 1)' + START,
    "many lines": "x=1\n" * 200_000 + START,
    "many arguments": "torchrun p.py --num-layers 2 " + "--x 1 " * 200_000,
    "a sweep of sweeps": "for a in {1..50}; do for b in {1..50}; do for c in {1..50}; do "
    "torchrun p.py --num-layers $a $b $c; done; done; done",
    "many launches in a loop": "for a in {1..2000}; do " + "torchrun p.py --num-layers $a; " * 40 + "done",
    "conditions in conditions": "".join([f"if [ -f {n} ]; then " for n in range(50)]) + ":" + "; fi" * 50 + START,
    "many conditions": "".join([f"[ -f {n} ] && x=$x{n}\n" for n in range(5000)]) + START,
    "conditions in a loop": "for a in {1..200}; do if [ -f $a ]; then break; fi; x=$x$a; done" + START,
    "many words for xargs": "echo {1..9000} | xargs -n1 torchrun p.py --num-layers",
    "open here-documents": "cat <<EOF\n" * 3000,
    "control characters": "\x01\x02\x7f" * 1000,
    "unclosed braces in one word": "echo " + "{a," * 50_000 + START,
    "a here-document of expansions": "cat <<EOF\n" + "$x " * 300_000 + "\nEOF" + START,
    "a word of escapes": "torchrun p.py --num-layers " + "\\a" * 500_000,
    "a string of expansions": 'torchrun p.py --num-layers "' + "$a" * 500_000 + '"',
}
LONG = "9" * 5000
NUMBERS = (
    "x=${²}", "x=$²", "x=$((²))", "x=$((1²))", "x=$((٣))", f"x=$((0x{'f' * 4000}))", "x=$((10**5000))",
    f"x=$(({LONG}))", f"x=$(({LONG}#1))", f"x=$((0{'7' * 5000}))", f"shift {LONG}", "shift ²", "f() { return ²; }; f",
    f"f() {{ return {LONG}; }}; f", "for i in 1; do break ²; done", f"for i in 1; do break {LONG}; done",
    "[ ² -eq 1 ] && x=1", f"[ {LONG} -gt 1 ] && x=1", f"[[ {LONG} -gt 1 ]] && x=1", "a=(1); unset 'a[²]'",
    f"a=(1); unset 'a[{LONG}]'", "a=(1); [[ -v a[²] ]]", f"a=(1); [[ -v a[{LONG}] ]]", "OPTIND=²; getopts a x",
    f"OPTIND={LONG}; getopts a x -a", "OPTIND=0; getopts a x -a", "_accmap_optpos=x; getopts a x -a",
    "x=$(expr ² + 1)", f"x=$(seq {LONG})", "x=$(echo '²+1' | bc)", f"x=$(printf %d {LONG})", "x=$(printf %d ²)",
    f"x=abc; y=${{x:{LONG}}}", f"a=(1); a[-{LONG}]=1", "x={1..²}", f"x=$(echo {{1..{LONG}}})", f"x=${{{LONG}}}",
    f"declare -i n={LONG}; n+={LONG}", "n=x; declare -i n; n+=²", "exec ²>f", "echo a | xargs -n² torchrun p.py",
    f"echo a | xargs -n{LONG} torchrun p.py", f"srun -n{LONG} python p.py --num-layers 1",
    "torchrun --nproc_per_node ² p.py --num-layers 1", f"torchrun --nnodes {LONG} p.py --num-layers 1",
    "msrun --worker_num ² p.py --num-layers 1", f"x=$((1{'+1' * 3000}))", f"x=$(({'-' * 3000}1))",
    f"x=$(({'1?' * 3000}1{':1' * 3000}))", f"shopt -s extglob\ncase a in {'@(' * 3000}a{')' * 3000}) x=1;; esac",
    "shopt -s extglob\ncase aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa in +(+(+(a)))b) ;; esac", "declare -n a=b b=a; a=1; a+=(1)",
    "declare -n a='b[a]'; a=1; x=$a", f"declare -n a='b[{'[' * 5000}'; a=1", "printf -v 'a[²]' 1",
)  # fmt: skip
STOPS = (
    ("x=1\nf() { f; }\nf" + START, "x.sh:2:7: SYN006"),
    ("x=aaaa\n" + "x=$x$x\n" * 60 + START, ":1: SYN006"),
    ("x=1\n\ntorchrun p.py {1..999999999}\n", "x.sh:3:1: SYN006"),
    ("x=1\ntorchrun p.py " + "\\a" * 200_000, "x.sh:2:200015: SYN006"),
    ("while :; do :; done" + START, "cannot determine whether this loop ends"),
    ("torchrun p.py --num-layers " + "{a," * 60 + "b" + "}" * 60, "SYN006"),
    ("source x.sh" + START, "SYN006"),
    ("if :; then :; fi\n" * 50 + "if :; then\n" * 40 + START + "fi\n" * 40, "x.sh:81:1: SYN005"),
)
"""Scripts that are given up, and what is said of the place."""


def shell_work() -> list[Case]:
    """Scripts that a shell would work on for ever, and numbers of any length and any script."""
    line = words_of("show x.sh --unset-empty --arg a --arg 8")
    found = [Case(f"shell: {name}", line, {"x.sh": text}, cpu_seconds=4) for name, text in BOUNDED.items()]
    for number, text in enumerate(NUMBERS):
        launched = text + "\ntorchrun --nproc_per_node 2 p.py --num-layers $x\n"
        for words in (line, ("show", "x.sh")):
            name = f"number {number} {text[:30]}: {words[2:3]}"
            found.append(Case(name, words, {"x.sh": launched}, cpu_seconds=4, fuzz=False))
    for number, (text, place) in enumerate(STOPS):
        found.append(
            Case(f"stops {number}", ("show", "x.sh"), {"x.sh": text}, codes=(2,), says=(place,), fuzz=len(text) > 500)
        )
    braces = "torchrun p.py --num-layers " + "{1..1}" * 40
    found.append(Case("many braces side by side", ("show", "x.sh"), {"x.sh": braces}, says=("1" * 40,), fuzz=False))
    return found


EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
MANY_DIGITS = "1" + "0" * 400
ODD_NUMBERS = {
    "qwen3_dense": {
        "warmup_steps": (".inf", ".nan"),
        "total_steps": (".inf",),
        "epochs": ("-1", MANY_DIGITS),
        "sizes": ("[.inf]",),
        **dict.fromkeys(("eps", "learning_rate", "weight_decay", "scale_sense", "max_grad_norm"), (MANY_DIGITS,)),
    },
    "qwen3_moe": {"num_hidden_layers": (MANY_DIGITS,), "moe_aux_loss_coeff": (MANY_DIGITS,)},
    "deepseek_v3": {"mscale": (MANY_DIGITS,)},
}


def odd_numbers() -> list[Case]:
    """Numbers that no run could use: infinite, negative or of four hundred digits."""
    found: list[Case] = []
    for example, keys in ODD_NUMBERS.items():
        whole = (EXAMPLES / example / "mindformers.yaml").read_text("utf-8")
        script = (EXAMPLES / example / "megatron.sh").read_bytes()
        for key, value in ((key, value) for key, values in keys.items() for value in values):
            text, changed = re.subn(rf"(?m)^(\s*{key}:) .*$", lambda old, value=value: f"{old[1]} {value}", whole)
            assert changed, key
            lines = "lint --no-cache x.sh x.yaml, recipe x.yaml, convert x.yaml -o out.sh, lr x.yaml"
            found += _cases(f"{key} {value[:6]}", lines, {"x.sh": script, "x.yaml": text}, fuzz=False)
    return found


def yamls() -> list[Case]:
    """YAMLs that grow, nest, refer to themselves, and count strangely."""
    found: list[Case] = []
    laughs = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
    merges = "m0: &m0 {a: 1}\n" + "".join(
        f"m{n}: &m{n} {{<<: [*m{n - 1}, *m{n - 1}], k{n}: 1}}\n" for n in range(1, 40)
    )
    texts = {
        "laughs": laughs + GOOD_YAML,
        "laughing values": laughs + GOOD_YAML.replace("num_hidden_layers: 2", "num_hidden_layers: *a39"),
        "merges": merges + GOOD_YAML.replace("  model_config:\n", "  model_config:\n    <<: *m39\n"),
        "a merge with itself": "a: &a\n  <<: *a\n  b: 1\n" + GOOD_YAML,
        "a list in itself": "a: &a [*a]\n" + GOOD_YAML,
        "a key that is itself": "&a ? *a : b\n" + GOOD_YAML,
        "keys of lists": "? [1, 2]\n: 3\n? {a: b}\n: 4\n" + GOOD_YAML,
        "nested lists": GOOD_YAML + "a: " + "[" * DEEP,
        "closed nested lists": GOOD_YAML + "a: " + "[" * DEEP + "]" * DEEP + "\n",
        "nested maps": GOOD_YAML + "a: " + "{a: " * DEEP,
        "nested blocks": GOOD_YAML + "".join(f"{' ' * n}a:\n" for n in range(2000)),
        "nested sequences": GOOD_YAML + "a:\n" + "- " * DEEP + "x\n",
        "base 60": GOOD_YAML.replace("seed: 1", "seed: " + "1:" + "59:" * 5000 + "59"),
        "base 60 fraction": GOOD_YAML.replace("1.e-4", "1:" + "59:" * 5000 + "59.5"),
        "base 16": GOOD_YAML.replace("seed: 1", "seed: 0x" + "f" * 5000),
        "base 8": GOOD_YAML.replace("seed: 1", "seed: 0" + "7" * 5000),
        "base 2": GOOD_YAML.replace("seed: 1", "seed: 0b" + "1" * 50_000),
        "digits": GOOD_YAML.replace("seed: 1", "seed: " + "9" * 100_000),
        "underscores": GOOD_YAML.replace("seed: 1", "seed: 1" + "_" * 100_000 + "1"),
        "a large float": GOOD_YAML.replace("1.e-4", "1.e+999999999"),
        "a count that no integer holds": GOOD_YAML
        + "train_dataset:\n  data_loader:\n    type: BlendedMegatronDatasetDataLoader\n    config:\n"
        "      num_dataset_builder_threads: 1.0e+290\n",
        "not a number": GOOD_YAML.replace("1.e-4", ".nan").replace("1.e-5", "-.inf"),
        "a large step": GOOD_YAML.replace("total_steps: 1000", "total_steps: 1" + "0" * 30),
        "negative steps": GOOD_YAML.replace("total_steps: 1000", "total_steps: -1"),
        "many layers": GOOD_YAML.replace("num_hidden_layers: 2", "num_hidden_layers: 1" + "0" * 18),
        "many layers with a dense one": GOOD_YAML.replace(
            "num_hidden_layers: 2", "num_hidden_layers: 999999999999\n    first_k_dense_replace: 5\n    num_experts: 8"
        ),
        "many dense layers": GOOD_YAML.replace(
            "num_hidden_layers: 2", "num_hidden_layers: 2\n    first_k_dense_replace: 999999999999\n    num_experts: 8"
        ),
        "a python object": GOOD_YAML + "a: !!python/object/apply:os.system ['touch ran']\n",
        "a python name": GOOD_YAML + "a: !!python/name:os.system\nb: !!python/module:antigravity\n",
        "binary": GOOD_YAML + "a: !!binary |\n  " + "QUFB" * 1000 + "\n",
        "a date": GOOD_YAML.replace("seed: 1", "seed: 2001-12-14t21:59:43.10-05:00") + "b: 9999-99-99\n",
        "a directive": "%YAML 9.9\n%TAG ! tag:x,2000:\n---\n" + GOOD_YAML,
        "documents": ("---\n" + GOOD_YAML) * 1000,
        "a set": GOOD_YAML + "a: !!set {x, y}\nb: !!omap [x: 1]\nc: !!pairs [x: 1]\n",
        "tabs": GOOD_YAML.replace("  ", "\t"),
        "duplicates": GOOD_YAML * 3,
        "a scalar": "x" * 1_000_000,
        "one key": "k" * 1_000_000 + ": 1\n" + GOOD_YAML,
        "many keys": GOOD_YAML + "".join(f"k{n}: {n}\n" for n in range(20_000)),
        "anchors": GOOD_YAML + "".join(f"k{n}: &a{n} 1\n" for n in range(20_000)),
        "base files in a circle": GOOD_YAML + "base_config: [./x.yaml, x.yaml, ../f/x.yaml]\n",
        "base file of a device": GOOD_YAML + "base_config: /dev/zero\n",
        "base file that is a number": GOOD_YAML + "base_config: [1, null, {a: b}, [c]]\n",
        "a model directory of devices": GOOD_YAML + "pretrained_model_dir: /dev\n",
        "a model directory with an odd name": GOOD_YAML + 'pretrained_model_dir: "\\0\\x1b"\n',
        "sections of other kinds": "model: 1\nlr_schedule: [1]\noptimizer: null\nparallel_config: x\nrun_mode: 5\n" + GOOD_YAML,
        "an optimizer whose class is a list": GOOD_YAML.replace("type: AdamW", "type: [AdamW]"),
        "keys of other kinds": "1: 2\nnull: 3\ntrue: 4\n1.5: 6\n" + GOOD_YAML,
        "interpolations": GOOD_YAML.replace("seed: 1", "seed: ${oc.env:HOME}${seed}{{seed}}"),
    }  # fmt: skip
    for name, text in texts.items():
        line = READ_YAML if len(text) < 100_000 else "lint x.yaml --no-cache, show x.yaml"
        found += _cases(name, line, {"x.yaml": text})
    for name, text in {
        "nested": "[" * 100_000, "a circle": '{"model_type": {"$ref": "#"}}', "digits": '{"num_hidden_layers": ' + "9" * 5000 + "}",
        "a large number": '{"rope_theta": 1e999999, "hidden_size": -1e400}', "nan": '{"rope_theta": NaN, "x": Infinity}',
        "half a character": '{"model_type": "\\ud800", "\\udc80": "\\u0000"}', "a list": "[1]", "text": '"x"',
        "a depth that is a text": MODEL.replace('"num_nextn_predict_layers": 1', '"num_nextn_predict_layers": "{0}"'),
        "duplicates": '{"hidden_size": 1, "hidden_size": 2}', "secrets": "root:x:0:0:SECRET:/root:/bin/sh",
    }.items():  # fmt: skip
        yaml = GOOD_YAML + "pretrained_model_dir: hf\n"
        found += _cases(
            f"config.json {name}",
            "lint x.yaml good.sh --no-cache, show x.yaml --format json, convert hf --to megatron",
            {"x.yaml": yaml, "hf/config.json": text},
        )
    return found


def other_texts() -> list[Case]:
    """Argument lists, recipes, logs and files that are none of them."""
    found: list[Case] = []
    header = "------------------------ arguments ------------------------\n"
    texts = {
        "x.json": ['{"--lr": ' + "[" * 50_000, "[" + '"--lr",' * 200_000 + '"1"]', '["--seed", ' + "9" * 5000 + "]", "[1e999]"],
        "x.txt": ["--lr " * 20_000, "--seed 0x" + "f" * 5000, "--lr \x1b[31m::error::", "'" * 100_000, "--lr ²"],
        "x.log": [
            header + "  lr ..... " + "9" * 5000 + "\n" + header, header + "  lr . 1\n" * 50_000, header + "x" * 1_000_000,
            header + "  data_path ..... [" + "'a', " * 100_000 + "]\n", "iteration 1/ 2 | loss: norm: 1.000 |\n" * 10,
        ],
        "model_config.yaml": [
            "MODEL_ARGS:\n  --num-layers: " + "[" * DEEP, "MODEL_ARGS:\n  --lr: 0x" + "f" * 5000 + "\n", "MODEL_ARGS: 1\n",
            "MODEL_ARGS:\n  --lr: {a: b}\n  5: 6\nENV_VARS: [x]\n", "ENV_VARS:\n  A: " + "1:59" * 3000 + "\nMODEL_ARGS: {--lr: 1}\n",
        ],
        "x.bin": ["\x7fELF" + "\0" * 1000, "\x89PNG\r\n\x1a\n", "PK\x03\x04" + "x" * 100, "<html>", "%PDF-1.4", "\x1f\x8b\x08"],
    }  # fmt: skip
    for name, variants in texts.items():
        for number, text in enumerate(variants):
            lines = f"show {name}, lint {name} --no-cache" if len(text) < 300_000 else f"lint {name} --no-cache"
            found += _cases(
                f"{name} {number}", lines, {name: text.encode("latin-1", "replace") if name == "x.bin" else text}
            )
    return found


def encodings() -> list[Case]:
    """Scripts and YAMLs as other systems save them."""
    found: list[Case] = []
    chinese = GOOD_SCRIPT.replace("#!/bin/bash\n", "#!/bin/bash\n# 训练脚本：学习率\n")
    chinese_yaml = "# 训练\n" + GOOD_YAML
    for code in ("gbk", "gb18030", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "big5", "shift_jis"):
        expected = (
            (2,)
            if "utf-16" in code or code in ("utf-32",)
            else (0, 1)
            if code.startswith(("gb", "utf-8"))
            else (0, 1, 2)
        )
        for line in ("lint x.sh --no-cache", "show x.sh", "convert x.sh", "lint x.sh --no-cache --diff"):
            found += _cases(code, line, {"x.sh": chinese.encode(code, "replace")}, codes=expected)
        found += _cases(code, "lint x.yaml --no-cache", {"x.yaml": chinese_yaml.encode(code, "replace")})
    for line, codes in {
        "lint x.sh --no-cache --encoding gbk": (0, 1), "lint x.sh --no-cache --encoding utf-8": (2,),
        "show x.sh --encoding gb18030": (0,), "lint x.sh --encoding latin-1": (2,), "lint x.sh --add-ignores --encoding gbk": (0,),
        "convert good.yaml --update x.sh --encoding gbk": (0, 2),
    }.items():  # fmt: skip
        found += _cases("gbk", line, {"x.sh": chinese.encode("gbk")}, codes=codes)
    latin = chinese.replace("学习率", "").encode("utf-8") + b"# caf\xe9\n"
    found += _cases("bytes", "lint x.sh --no-cache, show x.sh", {"x.sh": latin})
    found += _cases("bytes", "lint x.sh --no-cache, show x.sh", {"x.sh": GOOD_SCRIPT.encode() + bytes(range(1, 256))})
    found += _cases("a mark alone", "lint x.sh --no-cache", {"x.sh": b"\xef\xbb\xbf"}, codes=(2,))
    found += _cases("two marks", "lint x.sh --no-cache", {"x.sh": b"\xef\xbb\xbf" * 2 + GOOD_SCRIPT.encode()})
    found += _cases("half a character", "lint x.sh --no-cache", {"x.sh": GOOD_SCRIPT.encode() + b"# \xe8\xae"})
    return found


def _place(folder: Path) -> None:
    os.mkfifo(folder / "pipe.sh")
    os.mkfifo(folder / "pipe.yaml")
    (folder / "folder.sh").mkdir()
    (folder / "dangling.sh").symlink_to("nowhere\x1b[31m")
    (folder / "loop.sh").symlink_to("loop.sh")
    (folder / "zero.sh").symlink_to("/dev/zero")
    (folder / "deep.sh").symlink_to("/".join([".."] * 50) + "/dev/null")
    listener = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(folder)
    listener.bind("socket.sh")
    os.chdir(here)
    listener.close()
    with open(folder / "sparse.sh", "wb") as stream:
        stream.truncate(10**12)
    (folder / "empty.sh").touch()
    (folder / "blank.sh").write_text(" \n\t\n")


FOLDERS = ("/proc/self/fd", "/etc", "/", ".", "..", "folder.sh")
"""What `lint` searches for files, as it does any folder."""


def places() -> list[Case]:
    """What stands where a file should."""
    odd = ["/dev/zero", "/dev/null", "/dev/full", "/dev/random", "/dev/tty", "/dev/fd/0", "/dev/stdin", "/dev/fd/99", "/proc/self/environ", "/proc/self/mem", "/proc/kmsg", "/proc/self/fd", "/proc/self/cmdline", "/proc/version", "/sys/kernel/notes", "/etc", "/etc/shadow", "/", ".", "..", "pipe.sh", "folder.sh", "dangling.sh", "loop.sh", "zero.sh", "deep.sh", "socket.sh", "sparse.sh", "empty.sh", "blank.sh", "no/such.sh", "good.sh/x"]  # fmt: skip
    found: list[Case] = []
    for place in odd:
        codes = (0, 1, 2) if place in ("/etc/shadow", "/proc/version", "/proc/kmsg") else (2,)
        for command in ("lint {} --no-cache", "show {}"):
            searched = command.startswith("lint") and place in FOLDERS
            if not (searched and place == "/"):  # a whole disk is searched as long as it takes
                asked = command.replace("{}", place)
                found.append(
                    Case(f"place {place}: {command}", words_of(asked), {}, _place, (0, 1, 2) if searched else codes)
                )
    for command in ("recipe {}", "convert {}", "pair {} -d out", "diff {} good.yaml", "diff good.sh {}", "lr {}", "lr good.sh {}",
                    "lint good.sh {} --no-cache --format sarif", "convert good.sh --update {}", "lint good.sh --config {}",
                    "lint good.sh --baseline {}", "lint good.sh {} -j 2 --no-cache", "lint good.sh {} --diff --no-cache"):  # fmt: skip
        for place in ("/dev/zero", "pipe.yaml", "folder.sh", "dangling.sh", "sparse.sh"):
            codes = (0, 1, 2) if command.startswith("lint good.sh {}") and place in FOLDERS else (2,)
            found.append(Case(f"place {place}: {command}", words_of(command.replace("{}", place)), {}, _place, codes))
    for place in ("/dev/zero", "pipe.sh", "good.sh", "/dev/null", "/proc/version"):
        for command in ("lint - --no-cache", "show -", "convert /dev/stdin"):
            if place == "pipe.sh" and "/dev/stdin" in command:
                continue  # a pipe that nobody writes to is waited for, as by every program
            found.append(Case(f"{command} < {place}", words_of(command), {}, _place, stdin=place))
    for name in ("x" * 300 + ".sh", "a\nb.sh", "\x1b[2J.sh", "::error::.sh", "##vso[a]b.sh", "-.sh", "--config", "\u202e.sh",
                 "a" + "/b" * 3000):  # fmt: skip
        found.append(Case(f"name {name[:9]!r}", ("lint", "--no-cache", "--", name), {}, None, (2,)))
    return found


def configurations() -> list[Case]:
    """accmap.toml as somebody else writes it."""
    found: list[Case] = []
    good = f"{10**5 * 'x'}"
    toml = {
        "nested": "a = " + "[" * 50_000,
        "nested tables": "[" + "a." * 50_000 + "a]\nb = 1",
        "nested inline": "a = " + "{a = " * 10_000,
        "a long text": f'profile = "{good}"',
        "an unknown key": f'{good} = "{good}"',
        "escapes": 'profile = "\\u001b[31m::error::"\n',
        "keys with escapes": '"\\u001b[31m\\n::error::x" = 1\n',
        "digits": "world-size = " + "9" * 5000,
        "a large number": "world-size = 99999999999999999999",
        "zero": "world-size = 0",
        "not a number": "world-size = nan",
        "ignoring all": 'ignore = ["ALL"]',
        "selecting nothing": "select = []",
        "selecting all": 'select = ["ALL"]\nfail-on = "info"',
        "the cache elsewhere": 'cache-dir = "/tmp/x"',
        "extending itself": 'extend = "accmap.toml"',
        "a number of 5,000 digits": f"world-size = 0x{'f' * 5_000}",
        "a number for a name": f"profile = 0x{'f' * 5_000}",
        "a number within a list": f"ignore = [[0b{'1' * 20_000}]]",
        "more steps than a number holds": "steps = 9223372036854775808",
        "extending a device": 'extend = "/dev/zero"',
        "extending a pipe": 'extend = "pipe.yaml"',
        "extending a folder": 'extend = "/etc"',
        "extending secrets": 'extend = "/etc/passwd"',
        "extending nothing": 'extend = ""',
        "a circle": 'extend = "b.toml"',
        "a baseline of a device": 'baseline = "/dev/zero"',
        "a baseline of a pipe": 'baseline = "pipe.yaml"',
        "a baseline of a folder": 'baseline = "."',
        "a baseline that nests": 'baseline = "deep.json"',
        "a baseline of another kind": 'baseline = "kind.json"',
        "a baseline of large numbers": 'baseline = "digits.json"',
        "many patterns": "pairs = [" + "{megatron='*a*b/*.sh', mindformers='*/*.yaml'}," * 20_000 + "]",
        "an exponential pattern": "pairs = [{megatron='" + "*a" * 500 + "*b', mindformers='*'}]",
        "a pattern of stars": "pairs = [{megatron='" + "*" * 5000 + "', mindformers='" + "*" * 5000 + "'}]",
        "stars over folders": "pairs = [{megatron='" + "**/" * 500 + "*.sh', mindformers='good.yaml'}]",
        "a partner of a device": "pairs = [{megatron='good.sh', mindformers='/dev/zero'}]",
        "a partner of a pipe": "pairs = [{megatron='good.sh', mindformers='pipe.yaml'}]",
        "a partner of itself": "pairs = [{megatron='good.sh', mindformers='good.sh'}]",
        "a partner with a nul": 'pairs = [{megatron="good.sh", mindformers="a\\u0000b"}]',
        "a partner with a name": 'pairs = [{megatron="good.sh", mindformers="\\u001b[31m\\n::error::"}]',
        "ignores by pattern": "[per-file-ignores]\n'" + "[" * 500 + "*a" * 30 + "' = ['ALL']\n'**' = ['NET']",
        "ignores by a bad pattern": "[per-file-ignores]\n'[z-a]*(' = ['ALL']",
        "plugins": 'plugins = ["os:system", "../x", ""]',
        "declared": 'declare = ["--x:' + "9" * 5000 + '", "::", "\\u001b"]',
        "rules": "[rules.NET001]\nx = 1\n[rules.NET999]\ny = 2",
        "options of rules": "[rules]\nNET001 = 1",
        "severities": '[severity]\nNET001 = "fatal"',
        "another language": 'lang = "xx"',
        "bytes": b"\xff\xfe\x00",
        "utf-16": 'profile = "train"'.encode("utf-16"),
        "a mark": b'\xef\xbb\xbfprofile = "train"',
        "a nul": b'profile = "train"\0',
        "megabytes": b"# x\n" * 500_000,
    }
    files = {
        "b.toml": 'extend = "accmap.toml"',
        "deep.json": "[" * 100_000,
        "kind.json": '{"version": 1, "findings": [{"fingerprint": [], "count": "x"}]}',
        "digits.json": '{"version": 1, "findings": [{"fingerprint": "a", "count": ' + "9" * 5000 + "}]}",
    }
    for name, text in toml.items():
        held: dict[str, bytes | str] = {"accmap.toml": text, **files}
        found += _cases(f"toml {name}", "lint good.sh --no-cache, lint good.sh good.yaml", held, prepare=_place)
    for name, text in {
        "nested": "a = " + "[" * 50_000,
        "digits": "a = " + "9" * 5000,
        "wrong": "[tool.accmap]\nx = 1",
    }.items():
        held = {"pyproject.toml": "[tool.accmap]\n" + text if name != "wrong" else text}
        found += _cases(f"pyproject {name}", "lint good.sh --no-cache", held, codes=(2,))

    def device(folder: Path) -> None:
        (folder / "accmap.toml").symlink_to("/dev/zero")

    def pipe(folder: Path) -> None:
        os.mkfifo(folder / "accmap.toml")

    def directory(folder: Path) -> None:
        (folder / "accmap.toml").mkdir()

    for name, prepare in {"device": device, "pipe": pipe, "folder": directory}.items():
        found += _cases(f"toml is a {name}", "lint good.sh --no-cache", {}, prepare=prepare, codes=(2,))
    return found


def outputs() -> list[Case]:
    """Where somebody lets an answer be written."""
    found: list[Case] = []

    def odd(folder: Path) -> None:
        _place(folder)
        (folder / "mine.txt").write_text("precious\n")
        os.link(folder / "good.sh", folder / "hard.sh")
        (folder / "link.sh").symlink_to("good.sh")
        (folder / "out").mkdir()
        (folder / "locked").write_text("precious\n")
        (folder / "locked").chmod(0o400)
        if os.geteuid() == 0:  # root could break the real one
            os.mknod(folder / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        else:
            (folder / "null").symlink_to("/dev/null")

    for target in ("good.sh", "./good.sh", "hard.sh", "link.sh", "mine.txt", "locked", "out", "no/x", "/proc/x", "/dev/full",
                   "dangling.sh/x", "loop.sh", "socket.sh", "-", "", "x" * 300):  # fmt: skip
        for command in ("lint good.sh --output-file={}", "lint good.sh --write-baseline={}", "convert good.sh --output={}",
                        "convert good.sh -o new.yaml --report={}", "lr good.sh --output={}", "pair good.sh --directory={}"):  # fmt: skip
            if target == "-" and "--directory" not in command and "--report" not in command:
                continue
            if "--directory" in command and target in ("out", "", "-", "no/x", "x" * 300):
                continue
            if target == "/dev/full" and "--directory" not in command:
                continue
            found.append(Case(f"over {target[:9]}: {command}", words_of(command.replace("{}", target)), {}, odd, (2,)))
    for target in ("good.sh", "hard.sh", "link.sh"):
        for command in ("lint good.sh --force --output-file={}", "lint good.sh --force --write-baseline={}",
                        "convert good.sh --force --output={}", "lr good.sh --force --output={}"):  # fmt: skip
            found.append(
                Case(
                    f"forced over {target}: {command}",
                    words_of(command.replace("{}", target)),
                    {},
                    odd,
                    (2,),
                    ("an input of this command",),
                )
            )
    for command in ("lint good.sh --output-file=null", "lint good.sh --write-baseline=null", "convert good.sh -o null",
                    "convert good.sh -o /dev/stdout", "lr good.sh -o null", "lint good.sh --output-file=/dev/stdout",
                    "convert good.sh -o null --report /dev/fd/2"):  # fmt: skip
        found.append(Case(f"a stream: {command}", words_of(command), {}, odd, (0, 1)))
    for command in ("convert good.sh -o a.yaml --report a.yaml", "convert good.sh -o a.yaml --report ./a.yaml",
                    "convert good.sh -o a.yaml --report ./out/../a.yaml",
                    "convert good.sh -o a.yaml --update good.yaml", "lint good.sh --diff --fix --add-ignores --watch --no-such"):  # fmt: skip
        found.append(Case(f"two answers: {command}", words_of(command), {}, odd, (2,)))
    return found


def words() -> list[Case]:
    """Command lines that are wrong."""
    lines = [
        "", "\x1b[31m", "lint", "lint --", "lint -- --config", "lint --config", "lint good.sh --format \x1b[31m", "lint good.sh -j 0",
        "lint good.sh -j -1", "lint good.sh -j 99999999999", "lint good.sh --select " + "x" * 100_000, "show good.sh --world-size 0",
        "show good.sh --world-size " + "9" * 5000, "show good.sh --launch 99999999999999999999", "show good.sh --var =", "show good.sh --var a-b=1",
        "show good.sh --declare x", "show good.sh --declare --x:" + "9" * 5000, "show good.sh --megatron 99999999.1", "show good.sh --megatron \x1b",
        "lint good.yaml --mindformers 0", "lr good.sh --steps 99999999999999999999", "lr good.sh --steps 0", "lr good.sh --steps 1000000000 --all-steps",
        "explain " + "x" * 100_000, "explain SYN944 --format markdown", "explain --\x1b", "rules \x1b[31m", "schema \x1b[31m", "pair good.sh",
        "pair good.sh -d x --step 99999999999", "show good.sh --only " + "*a" * 200 + "b", "show good.sh --only [", "lint good.sh --fail-on x",
        "show good.sh good.sh", "show good.sh --stdin-filename \x1b", "--help \x1b", "lint --help --\x1b", "init",
    ]  # fmt: skip
    return [Case(f"words {number}", words_of(line), {}) for number, line in enumerate(lines)]


LAUNCH_CASES = [
    *scripts(),
    *shell_work(),
    *odd_numbers(),
    *yamls(),
    *other_texts(),
    *encodings(),
    *places(),
    *configurations(),
    *outputs(),
    *words(),
]
