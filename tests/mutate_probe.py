"""Part of `mutate.py`: what a checkout's processes write about the statements they run, and which tests they try.

As a plugin of pytest it lists the tests with their marks and seconds, or keeps the tests that a file names, in its
order. A process that a test started asks the environment, else its ancestors, which test it belongs to.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal

FOLDER = os.environ.get("MUTATE_HITS", "")
_seen = set()
_switched_on = int(os.environ.get("MUTATE_FAULT", "-1"))
SECONDS = 900
"""A fault that makes tests run longer than this is found: it hangs."""


def on(number):
    """Whether this process has the fault of a number."""
    return number == _switched_on


def hit(number):
    """Note once for each test that it runs a statement."""
    if number not in _seen:
        _seen.add(number)
        test = os.environ.get("PYTEST_CURRENT_TEST") or _of_ancestors()
        if test:
            _append("hits", f"{number} {test}")


def _append(kind, line):
    try:
        folder = FOLDER or _beside()
        file = os.open(f"{folder}/{kind}.{os.getpid()}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(file, line.encode() + b"\n")
        os.close(file)
    except OSError:
        pass


def _beside():
    """The folder of a process whose environment was cleared."""
    with open(os.path.splitext(os.path.abspath(__file__))[0] + ".folder", encoding="utf-8") as file:
        return file.read()


def _of_ancestors():
    process = os.getpid()
    try:
        while process > 1:
            path = f"{FOLDER or _beside()}/current.{process}"
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    return file.read()
            with open(f"/proc/{process}/stat", encoding="utf-8") as file:
                process = int(file.read().rpartition(")")[2].split()[1])
    except (OSError, ValueError):
        pass
    return ""


if "pytest" in __import__("sys").modules:
    import pytest

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(items):
        if FOLDER and os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0":
            marks = {
                item.nodeid: {
                    mark.name: (mark.args or (True,))[0] if mark.name == "table" else True
                    for mark in item.iter_markers()
                }
                for item in items
            }
            with open(f"{FOLDER}/tests.{os.getpid()}", "w", encoding="utf-8") as file:
                json.dump(marks, file)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(session):
        result = yield
        names = os.environ.get("MUTATE_TESTS")
        if names:
            with open(names, encoding="utf-8") as file:
                order = {name: place for place, name in enumerate(file.read().split("\n"))}
            session.items[:] = sorted(
                (item for item in session.items if item.nodeid in order), key=lambda item: order[item.nodeid]
            )
            session.testscollected = len(session.items)
        return result

    def pytest_runtest_logstart(nodeid):
        _seen.clear()
        if FOLDER:
            with open(f"{FOLDER}/current.{os.getpid()}", "w", encoding="utf-8") as file:
                file.write(nodeid)

    def pytest_runtest_logreport(report):
        if FOLDER and report.when == "call":
            _append("seconds", f"{report.duration:.4f} {report.nodeid}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(session):
        path = os.environ.get("MUTATE_TRIALS")
        if not path:
            return None
        with open(path, encoding="utf-8") as file:
            trials = json.load(file)
        items = {item.nodeid: item for item in session.items}
        broken = set()
        for trial in trials:
            answer = {key: value for key, value in trial.items() if key != "levels"} | {"found": None, "by": None}
            for level, tests in trial["levels"].items():
                waiting = [items[test] for test in tests if test in items and test not in broken]
                while waiting:
                    failed = _forked(trial["number"], waiting, level)
                    if failed is None:
                        break
                    if failed != "timeout" and _forked(-1, [items[failed]], level) is not None:
                        broken.add(failed)  # without the fault, too
                        waiting = waiting[[item.nodeid for item in waiting].index(failed) + 1 :]
                        continue
                    answer |= {"found": level, "by": failed}
                    break
                if answer["found"]:
                    break
            with open(os.environ["MUTATE_JOURNAL"], "a", encoding="utf-8") as file:
                file.write(json.dumps(answer) + "\n")
        return True

    def _forked(number, items, level):
        """The first test that fails in a fork with a fault; "timeout" if they do not end; None if none fails."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.setsid()
            os.close(read)
            failed = _first_failure(number, items, level)
            os.write(write, (failed or "").encode())
            os._exit(0)
        os.close(write)
        ready, _, _ = select.select([read], [], [], SECONDS)
        failed = "timeout"
        if ready:
            data = b"".join(iter(lambda: os.read(read, 65536), b""))
            failed = data.decode() or None
        os.close(read)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return failed

    def _first_failure(number, items, level):
        global _switched_on
        _switched_on = number
        os.environ["MUTATE_FAULT"] = str(number)
        config = items[0].config
        failed = []

        class Watch:
            def pytest_runtest_logreport(self, report):
                if report.failed:
                    failed.append(report.nodeid)

        config.pluginmanager.register(Watch())
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            config.pluginmanager.unregister(reporter)
        if level == "quick":
            for plugin in config.pluginmanager.get_plugins():
                fewer = getattr(plugin, "_with_fewer_examples", None)
                if fewer is not None:
                    for test in {
                        id(item.function): item.function for item in items if hasattr(item, "function")
                    }.values():
                        if getattr(test, "is_hypothesis_test", False):
                            fewer(test)
        for place, item in enumerate(items):
            following = items[place + 1] if place + 1 < len(items) else None
            try:
                config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            except BaseException:  # noqa: BLE001 - what a fault makes of the process is found, too
                failed.append(item.nodeid)
            if failed:
                return failed[0]
        return None
