"""Scripts that start an experiment without a guard: they work, or say in one line why not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

OURS = """
import sparsegate as sg
found = sg.paper.run(datasets=["zipf"], counts=[25, 50], methods=["em"], runs=2, jobs=2)
print(len(found), __file__, __spec__)
"""
ITS_OWN = """
import sparsegate as sg
def first(scores, count, epsilon, rng):
    return list(range(count))
sg.paper.run(datasets=["zipf"], counts=[25, 50], methods=[first], runs=2, jobs=2)
"""


def script(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    path = folder / "script.py"
    path.write_text(text, encoding="utf-8")
    return subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=60)


def test_a_script_without_a_guard_runs_once(tmp_path: Path) -> None:
    done = script(tmp_path, OURS)
    assert (done.stdout, done.stderr) == (f"2 {tmp_path / 'script.py'} None\n", "")


def test_a_method_of_the_script_itself_needs_a_guard_and_one_line_says_so(tmp_path: Path) -> None:
    done = script(tmp_path, ITS_OWN)
    said = done.stderr.splitlines()
    assert said[-1].startswith("sparsegate.errors.SparsegateError: the processes ended as soon as they began")
    assert sum("Traceback" in line for line in said) == 1  # the script's own, none of a worker


@pytest.mark.soak
def test_a_method_of_the_script_itself_runs_below_a_guard(tmp_path: Path) -> None:
    done = script(tmp_path, ITS_OWN.replace("sg.e", 'if __name__ == "__main__":\n    sg.e'))
    assert (done.returncode, done.stderr) == (0, "")
