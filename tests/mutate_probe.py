"""Part of `mutate.py`: what a checkout's processes write about the statements they run, and which tests they try.

As a plugin of pytest it lists the tests with their marks and seconds, or keeps the tests that a file names, in its
order. A process that a test started asks the environment, else its ancestors, which test it belongs to.
"""

from __future__ import annotations

import json
import os

FOLDER = os.environ.get("MUTATE_HITS", "")
_seen = set()


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
