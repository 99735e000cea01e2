"""Runs mutants in copies of the tree, never in the tree itself.

A mutant is killed when a test it names fails, and by nothing else: a test that is skipped, not found, or cannot be
collected or set up proves nothing about the mistake.
"""

from __future__ import annotations

import compileall
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from py_compile import PycInvalidationMode
from time import monotonic

from tests.mutants.catalogue import ROOT, Mutant

# What tests read. Missing ones are passed over, so that a small tree can be tried too.
NEEDED = (
    *("src", "tests", "examples", "benchmarks", "docs", "pages"),
    *("pyproject.toml", "README.md", "Makefile", "CHANGELOG.md"),
)
TEST_SECONDS = 120
RUN_SECONDS = 300

KILLED, SURVIVED, NOT_FOUND, BROKEN, NOT_RUN = "killed", "SURVIVED", "NOT FOUND", "BROKEN", "not run"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How one mutant fared; `detail` says which test killed it, or what is wrong."""

    mutant: Mutant
    outcome: str
    detail: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Run:
    """How a run of pytest ended: its exit code, how each test ended, and the end of its output."""

    code: int
    ended: dict[str, str]
    output: str

    def ids(self, outcome: str, test: str = "") -> list[str]:
        """The tests that ended so; with `test`, of those it names (a function names all its parameters)."""
        return [
            name
            for name, how in self.ended.items()
            if how == outcome and (not test or name == test or name.startswith((f"{test}[", f"{test}::")))
        ]


class Copy:
    """A copy of the tree in which mistakes may be made."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._folder = folder
        for name in NEEDED:
            if (root / name).is_dir():
                shutil.copytree(root / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif (root / name).exists():
                shutil.copy2(root / name, folder / name)
        # Time stamps are too coarse for files that change within a second: bytecode is checked by a hash of its source.
        compileall.compile_dir(folder / "src", quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
        self._environment = os.environ | {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        script = "import sparsegate; print(sparsegate.__file__)"
        used = subprocess.check_output([sys.executable, "-c", script], env=self._environment, cwd=folder, text=True)
        if not Path(used.strip()).is_relative_to(folder):
            raise RuntimeError(f"the tests would import {used.strip()}, not the copy in {folder}")

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """The copy with this mistake in it, and without it afterwards."""
        path = self._folder / mutant.file
        source = path.read_text(encoding="utf-8")
        path.write_text(mutant.applied(source), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(source, encoding="utf-8")

    def run(self, tests: Sequence[str], seconds: float = RUN_SECONDS) -> Run:
        """Run these tests here. One that takes longer than TEST_SECONDS fails; a run that never ends is ended."""
        record = self._folder / "record.json"
        record.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", "-p", "no:schemathesis"]
        command += ["-p", "tests.mutants.recorder", f"--timeout={TEST_SECONDS}", "--hypothesis-profile=mutants", *tests]
        process = subprocess.Popen(
            command,
            cwd=self._folder,
            env=self._environment | {"MUTANTS_RECORD": str(record)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            return Run(code=-1, ended={}, output=f"no end after {seconds:.0f} s")
        ended = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
        return Run(code=process.returncode, ended=ended, output=output)


def _end(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@contextmanager
def copy_of(root: Path = ROOT) -> Iterator[Copy]:
    """A fresh copy of the tree, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="sparsegate-mutants-") as name:
        yield Copy(Path(name).resolve(), root)


def unfit_tests(copy: Copy, tests: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The tests that cannot judge a mutant because they do not pass without one: outcome and detail of each."""
    run = copy.run(tests, seconds=RUN_SECONDS + 10 * len(tests))
    if run.code not in (0, 1) and len(tests) > 1:
        # One file that cannot be collected keeps pytest from running the others.
        return {test: wrong for test in tests for wrong in unfit_tests(copy, [test]).values()}
    return {test: wrong for test in tests if (wrong := _unfit(run, test))}


def _unfit(run: Run, test: str) -> tuple[str, str] | None:
    if failed := [*run.ids("failed", test), *run.ids("error", test)]:
        return BROKEN, f"without the mutant, {failed[0]} does not pass"
    if run.ids("passed", test):
        return None
    if run.ids("skipped", test):
        return NOT_RUN, f"{test} is skipped here"
    if run.code in (-1, 2, 3):
        return BROKEN, f"{test} did not run: {_last_line(run.output)}"
    return NOT_FOUND, f"{test} is not among the tests of a normal run"


def judge(copy: Copy, mutant: Mutant, unfit: dict[str, tuple[str, str]]) -> Verdict:
    """Whether one of the mutant's tests fails under it."""
    for test in mutant.tests:
        if test in unfit:
            outcome, detail = unfit[test]
            return Verdict(mutant=mutant, outcome=outcome, detail=detail)
    start = monotonic()
    with copy.mutated(mutant):
        run = copy.run(mutant.tests)
    seconds = monotonic() - start
    if failed := run.ids("failed"):
        return Verdict(mutant=mutant, outcome=KILLED, detail=failed[0], seconds=seconds)
    if run.code == 0:
        return Verdict(mutant=mutant, outcome=SURVIVED, detail=mutant.why, seconds=seconds)
    errors = run.ids("error")
    detail = f"no test failed, but {errors[0]} could not start" if errors else _last_line(run.output)
    return Verdict(mutant=mutant, outcome=BROKEN, detail=detail, seconds=seconds)


def _last_line(output: str) -> str:
    return (output.strip().splitlines() or ["no output"])[-1]
