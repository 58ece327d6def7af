"""Each side is run in the version that its file asks for, from where the user has it, or not at all."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.cli.commands.verify import run_verification
from accmap.cli.lean import main
from accmap.schemas.config import Basis, ReadOptions
from accmap.schemas.diagnostic import UsageError
from accmap.verifier import installations
from accmap.verifier.installations import missing_modules
from accmap.verifier.worker.patches import inert_triton

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
from pair_files import TABLE, write_pair

if TYPE_CHECKING:
    from accmap.schemas.versions import Framework


EVALUATED = {"eval-interval": 1000}
"""An argument without which Megatron-LM from 0.16 on would not start the run."""


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    script, config = write_pair(TABLE["equal"]["dense"], tmp_path)
    return str(script), str(config)


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of accmap's own for each test."""
    monkeypatch.setenv("ACCMAP_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "frameworks"


def tree(folder: Path, framework: str, version: str) -> str:
    """A folder that says a version as the framework's own tree does."""
    if framework == "megatron":
        major, minor, patch = version.split(".")
        place = folder / "megatron" / "core"
        text = f"MAJOR = {major}\nMINOR = {minor}\nPATCH = {patch}\nPRE_RELEASE = ''\n"
    else:
        place, text = folder / "mindformers", f'"""The package."""\n__version__ = "{version}"\nimport gone\n'
    place.mkdir(parents=True)
    (place / ("package_info.py" if framework == "megatron" else "__init__.py")).write_text(text, "utf-8")
    return str(folder)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The running environment has Megatron-Core 0.12.3 and MindSpore Transformers 1.9.0."""
    folders = {
        "megatron": tree(tmp_path / "m", "megatron", "0.12.3"),
        "mindformers": tree(tmp_path / "f", "mindformers", "1.9.0"),
    }
    there: dict[str, Any] = {
        framework: installations.installation_in(framework, folder)._replace(origin="environment")
        for framework, folder in folders.items()
    }
    monkeypatch.setattr(installations, "find_installed", lambda framework: there[framework])
    monkeypatch.setattr("accmap.verifier.verify.missing_modules", lambda *_asked: ())


def answer(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = main(["verify", *words, "--format", "json", "--quiet"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("words", "side", "reason", "remedy"),
    [
        (["--megatron", "0.16"], "megatron", "0.16, but 0.12.3 is installed", "download megatron-core==0.16.1 with"),
        (["--megatron", "main"], "megatron", "main", "set a source tree of main with `--megatron-source"),
        (["--mindformers", "1.8"], "mindformers", "1.8, but 1.9.0 is installed", "run 1.9.0 instead with `--closest`"),
    ],
)  # fmt: skip
def test_a_version_that_is_not_here_is_not_verifiable(
    words: list[str],
    side: str,
    reason: str,
    remedy: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    script, config = write_pair({**TABLE["equal"]["grouped"], "megatron": EVALUATED}, tmp_path)
    code, found = answer([str(script), str(config), *words], capsys)
    assert (code, found["verdict"], found["ran"]) == (1, "not-verifiable", [])
    (failure,) = found["failures"]
    assert (failure["side"], failure["kind"]) == (side, "version")
    assert reason in failure["reason"]
    assert remedy in failure["explanation"]
    assert main(["verify", str(script), str(config), *words, "--quiet", "--lang", "zh"]) == 1
    assert "无法验证" in capsys.readouterr().out


@pytest.mark.usefixtures("installed")
def test_a_version_that_was_assumed_can_be_said(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newer = tree(tmp_path / "n", "megatron", "0.15.3")
    code, found = answer([*pair, "--megatron-source", newer], capsys)
    assert code == 1
    assert "to read the file as the installed version, use `--megatron 0.15`" in found["failures"][0]["explanation"]


@pytest.mark.parametrize("framework", ["megatron", "mindformers"])
def test_a_folder_without_the_framework_is_wrong_use(
    framework: str, pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", *pair, f"--{framework}-source", str(tmp_path)]) == 2
    assert f"does not contain {framework}" in capsys.readouterr().err


def test_a_version_is_read_and_nothing_is_run(tmp_path: Path) -> None:
    found = installations.installation_in("mindformers", tree(tmp_path / "a", "mindformers", "2.1.0"))
    assert (found.version, found.name, found.origin) == ("2.1.0", "2.1", "source")
    assert found.serves("2.1")
    assert not found.serves("2.0")
    newest = installations.installation_in("megatron", tree(tmp_path / "b", "megatron", "0.20.0"))
    assert (newest.name, newest.serves("main")) == ("main", True)
    broken = Path(tree(tmp_path / "c", "megatron", "0.16.1")) / "megatron" / "core" / "package_info.py"
    for text in ("MAJOR = 0\n", "MAJOR = (", "MAJOR = 0\0"):
        broken.write_text(text, "utf-8")
        with pytest.raises(UsageError):
            installations.installation_in("megatron", str(tmp_path / "c"))


@pytest.mark.usefixtures("installed")
def test_the_version_itself_comes_before_the_nearest(tmp_path: Path) -> None:
    store = tmp_path / "store"
    for version in ("0.14.0", "0.17.1"):
        tree(store / "megatron" / version, "megatron", version)

    def ran(version: str, *, closest: bool = False) -> str | None:
        basis = Basis("megatron", version, "given")
        found, _why = installations.choose_installation(basis, source=None, store=str(store), closest=closest)
        return None if found is None else f"{found.version} {found.origin}"

    assert ran("0.12") == "0.12.3 environment"
    assert ran("0.14.5") == "0.14.0 prepared"
    assert ran("0.16") is None
    assert ran("0.16", closest=True) == "0.17.1 prepared"
    assert ran("main", closest=True) == "0.17.1 prepared"


@pytest.mark.usefixtures("installed")
def test_a_version_that_cannot_be_built_has_no_remedy() -> None:
    found, why = installations.choose_installation(
        Basis("mindformers", "1.5", "given"), source=None, store=None, closest=False
    )
    assert found is None
    assert why is not None
    assert why.remedy is None
    assert "mindformers 1.6, 1.7, 1.8, 1.9, 2.0, 2.1, not of 1.5" in why.reason


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(("dialect", "offers"), [(None, True), ("dynamic", False)])
def test_a_dynamic_file_is_not_to_be_read_as_an_older_version(dialect: Any, offers: bool) -> None:
    _found, why = installations.choose_installation(
        Basis("mindformers", "2.1", "assumed"), source=None, store=None, closest=False, dialect=dialect
    )
    assert why is not None
    assert ("`--mindformers 1.9`" in str(why.remedy)) == offers


class Pip:
    """What pip would do: it unpacks the wheel, or says why not."""

    def __init__(self, accepts: str) -> None:
        self.accepts = accepts
        self.calls: list[list[str]] = []

    def __call__(self, words: list[str], **_named: Any) -> subprocess.CompletedProcess[str]:
        self.calls.append(words)
        if self.accepts not in words:
            return subprocess.CompletedProcess(words, 1, "", "WARNING: a remark\nERROR: No matching distribution\n")
        tree(Path(words[words.index("--target") + 1]), "megatron", "0.17.1")
        return subprocess.CompletedProcess(words, 0, "", "")


def test_preparing_unpacks_a_wheel_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pip = Pip("--python-version")
    monkeypatch.setattr(installations.subprocess, "run", pip)
    told: list[str] = []
    store = str(tmp_path / "store")
    for _time in range(2):
        assert installations.prepare_wheel("megatron", "megatron-core==0.17.1", store, told.append)
    assert len(pip.calls) == 2  # as it is, then for a later Python
    assert all("--no-deps" in words for words in pip.calls)
    assert [one.version for one in installations.prepared_installations("megatron", store)] == ["0.17.1"]
    assert told[0] == "downloading megatron-core==0.17.1"
    assert os.listdir(os.path.join(store, "megatron")) == ["0.17.1"]


@pytest.mark.usefixtures("installed")
def test_what_cannot_be_prepared_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(installations.subprocess, "run", Pip("nothing"))
    script, config = write_pair({**TABLE["equal"]["dense"], "megatron": EVALUATED}, tmp_path)
    assert main(["verify", str(script), str(config), "--megatron", "0.16", "--prepare"]) == 1
    said = capsys.readouterr()
    assert "megatron-core==0.16.1 could not be downloaded: ERROR: No matching distribution" in said.err
    assert "cannot be verified" in said.out


def test_preparing_needs_a_place(
    pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ACCMAP_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "nowhere")
    assert main(["verify", *pair, "--prepare"]) == 2
    assert "ACCMAP_CACHE_DIR" in capsys.readouterr().err


def test_an_inert_kernel_is_defined_and_does_not_run() -> None:
    before = set(sys.modules)
    with inert_triton():
        triton = importlib.import_module("triton")
        language = importlib.import_module("triton.language")

        @triton.jit
        def kernel(pointer: Any, size: language.constexpr) -> None: ...

        with pytest.raises(NotImplementedError):
            kernel[(1,)](None, 4)
    assert not [name for name in set(sys.modules) - before if name.startswith("triton")]


TREES = os.environ.get("ACCMAP_MEGATRON_TREES")
WHEELS = Path(__file__).parents[2] / ".frameworks"
OTHER_KEYS = ("1.6.0",)
"""Not of these pairs: `test_verify_oldest.py`."""
HERE = {
    "megatron": sorted(Path(TREES).iterdir()) if TREES else sorted((WHEELS / "megatron").glob("*")),
    "mindformers": [place for place in sorted((WHEELS / "mindformers").glob("*")) if place.name not in OTHER_KEYS],
}


@pytest.mark.frameworks
@pytest.mark.slow
@pytest.mark.skipif(
    bool(missing_modules("megatron") + missing_modules("mindformers")), reason="the frameworks are not installed"
)
@pytest.mark.parametrize("family", ["grouped", "moe_softmax", "latent_yarn"])
@pytest.mark.parametrize(
    ("framework", "place"), [(framework, place) for framework, places in HERE.items() for place in places], ids=str
)
def test_every_version_runs_from_its_own_folder(framework: Framework, place: Path, family: str, tmp_path: Path) -> None:
    script, config = write_pair(TABLE["equal"][family], tmp_path)
    version = installations.installation_in(framework, str(place)).name
    options = ReadOptions(**{framework: version})
    chosen = {"sources": {framework: str(place)}}
    found, _findings, _configs = run_verification([str(script), str(config)], options, chosen)
    told = found.to_json()
    (ran,) = [entry for entry in told["ran"] if entry["framework"] == framework]
    assert (ran["path"], ran["asked"], ran["exact"]) == (str(place), version, True)
    if version == "1.7":
        # It reads no `pad_token_id`: token 0 is left out whatever is written, and the padded inputs show it.
        assert told["disagreeing"] in ({}, {"padding": ["loss"]}), told["failures"]
    else:
        assert found.verdict in ("match", "partial"), (told["failures"], told["disagreeing"])
    assert told["loss"]


@pytest.mark.frameworks
@pytest.mark.slow
@pytest.mark.skipif(
    bool(missing_modules("megatron") + missing_modules("mindformers")), reason="the frameworks are not installed"
)
@pytest.mark.parametrize("place", HERE["mindformers"], ids=str)
def test_an_uneven_pipeline_is_built_as_one_stage(place: Path, tmp_path: Path) -> None:
    deep = {"num_hidden_layers": 4, "offset": [1, -1]}
    pair = {"family": "grouped", "megatron": {"num-layers": 4}, "model": deep}
    script, config = write_pair({**pair, "mindformers": {"parallel_config": {"pipeline_stage": 2}}}, tmp_path)
    version = installations.installation_in("mindformers", str(place)).name
    chosen = {"sources": {"mindformers": str(place)}, "stage": "step1"}
    options = ReadOptions(mindformers=version)
    found, _findings, _configs = run_verification([str(script), str(config)], options, chosen)
    assert found.to_json()["loss"], found.failures


@pytest.mark.frameworks
@pytest.mark.slow
@pytest.mark.skipif(
    bool(missing_modules("megatron") + missing_modules("mindformers")), reason="the frameworks are not installed"
)
def test_the_nearest_version_gives_a_match_in_part(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    code, found = answer([*pair, "--megatron", "0.13", "--closest"], capsys)
    assert (code, found["verdict"]) == (1, "partial")
    told = found["not_compared"]
    entry = next(one for one in told if one["field"] == "megatron.version")
    assert (entry["a"], entry["b"][:4], entry["differs"]) == ("0.13", "0.12", True)
    assert [one["exact"] for one in found["ran"]] == [False, True]
    assert main(["verify", *pair, "--megatron", "0.13", "--closest", "--quiet"]) == 1
    assert "instead of 0.13" in capsys.readouterr().out.splitlines()[0]
