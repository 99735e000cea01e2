"""A page runs with the packages that it tells its reader to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pages.installed import EXTRAS, HIDING, hidden, said


@pytest.mark.parametrize(
    ("page", "packages"),
    [
        ("nothing", set()),
        ("`pip install '.[serve,postgres]'`", {"fastapi", "uvicorn", "httpx", "psycopg"}),
        ("```sh\npip install '.[plots]'\n```", {"matplotlib"}),
        ("`pip install\n'..[plots]' pytest`", {"matplotlib", "pytest"}),
    ],
)
def test_what_a_page_tells_its_reader_to_install(page: str, packages: set[str]) -> None:
    assert said(page) == packages


def test_an_extra_that_does_not_exist_is_found() -> None:
    with pytest.raises(ValueError, match="there is no extra plot$"):
        said("`pip install '.[plot]'`")


def test_all_but_what_the_page_says_is_hidden_and_what_that_brings_is_not() -> None:
    assert {"pandas", "matplotlib", "fastapi", "sklearn", "pytest", "mkdocs"} <= hidden("")
    assert hidden("") - hidden("`pip install '.[frames]'`") == {"pandas", "polars", "pyarrow"}
    assert "numpy" not in hidden("")
    assert EXTRAS.keys() >= {"serve", "plots", "frames"}


def test_a_hidden_module_is_not_found_and_others_are(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HIDING.format(hidden=["rich"]), encoding="utf-8")
    code = "import importlib.util as u; print([bool(u.find_spec(name)) for name in ('rich', 'typer', 'json')])"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[False, True, True]\n"
