"""What an installed wheel must do far from the checkout: import every package, and read every example."""

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import accmap

assert "site-packages" in accmap.__file__, accmap.__file__
# What needs an extra, and the plugin that pytest itself loads.
EXTRAS = ("accmap.verification", "accmap.verifier", "accmap.cli.language_server.server", "accmap.pytest")

for module in pkgutil.walk_packages(accmap.__path__, "accmap."):
    if module.name == "accmap.__main__" or module.name.startswith(EXTRAS):
        continue
    importlib.import_module(module.name)

for manual in ("man1/accmap.1", "man1/accmap-lint.1", "zh_CN/man1/accmap.1"):
    assert (Path(sys.prefix) / "share" / "man" / manual).is_file(), manual
command = Path(sys.executable).with_name("accmap")
files = sorted(Path("examples").glob("*/megatron.sh")) + sorted(Path("examples").glob("*/mindformers.yaml"))
assert files, "no examples"
for file in files:
    done = subprocess.run([str(command), "show", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{file}: {done.stderr}"
    assert done.stdout, file
pair = ["examples/qwen3_dense/megatron.sh", "examples/qwen3_dense/mindformers.yaml"]
runs = (
    (["dump", "config", *pair, "-d", "dump"], 0),
    (["playbook", *pair, "-d", "book"], 0),
    (["doctor"], 1),  # neither framework is installed here: nothing was judged
)
for words, code in runs:
    done = subprocess.run([str(command), *words], capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{words}: {done.stdout}{done.stderr}"
assert not accmap.lint(*pair).counts["error"]
print(f"{len(files)} examples read by the installed wheel")
