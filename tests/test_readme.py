"""The README's example and the demo run as they stand."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_the_ten_lines_of_the_readme_run(capsys: pytest.CaptureFixture[str]) -> None:
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert code
    exec(code.group(1), {})
    assert "0.475" in capsys.readouterr().out


def test_the_demo_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    assert "ABOVE" in capsys.readouterr().out
