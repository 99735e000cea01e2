"""Every target passes after every other: the peers, which bring packages under names of ours, stay out of .venv."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def commands(target: str) -> list[str]:
    """What make would run for a target if nothing were there yet."""
    if shutil.which("make") is None:
        pytest.skip("make is not here")
    fresh = ["make", "--dry-run", "--always-make", "--no-print-directory", target]
    done = subprocess.run(fresh, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_peers_are_installed_where_no_other_target_looks() -> None:
    told = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = told.partition(".PHONY: ")[2].partition("\n")[0].split()
    assert {"test", "bench", "docs", "reproduce"} <= set(targets)
    for target in {*targets} - {"bench", "clean", "proofs", "help"}:
        assert not [line for line in commands(target) if "bench" in line and "pip" in line], target
        assert not [line for line in commands(target) if ".venv-bench" in line], target
    measured = commands("bench")
    assert [line for line in measured if "pip install" in line and "bench" in line]
    assert all(".venv-bench/" in line for line in measured if "pip install" in line or "-m benchmarks" in line)


def test_clean_removes_both_environments_and_one_that_once_had_the_peers_is_made_anew() -> None:
    (removed,) = [line for line in commands("clean") if line.startswith("rm -rf ")]
    assert {".venv", ".venv-bench"} <= set(removed.split())
    assert {".venv/", ".venv-bench/"} <= set((ROOT / ".gitignore").read_text(encoding="utf-8").splitlines())
    made = commands("setup")
    removal = next(place for place, line in enumerate(made) if line == "test ! -e .venv/.bench || rm -rf .venv")
    assert removal < next(place for place, line in enumerate(made) if "pip install" in line)


def test_an_installed_package_of_this_name_does_not_hide_the_tests(tmp_path: Path) -> None:
    """diffprivlib installs a package `tests`; workers that unpickle a function of ours import it by its name."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").touch()
    asked = "import tests.paper, tests.support; print(tests.__file__)"
    paths = os.pathsep.join(map(str, (ROOT, tmp_path)))
    done = subprocess.run(
        [sys.executable, "-c", asked], env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert (done.stdout.strip(), done.stderr) == (str(ROOT / "tests" / "__init__.py"), "")


def test_the_tests_of_ctrl_c_hold_where_it_is_ignored_as_under_nohup() -> None:
    one = "tests/tables/test_opening.py::test_ctrl_c_waits_until_what_is_paid_for_is_kept"
    tests = f"{sys.executable} -m pytest -q -p no:cacheprovider {one}"
    done = subprocess.run(["sh", "-c", f"trap '' INT HUP; exec {tests}"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
