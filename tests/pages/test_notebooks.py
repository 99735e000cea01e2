"""Tutorials as notebooks: each runs in a kernel, shows what its page shows, and has the addresses of its place."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from pages.blocks import ROOT, steps
from pages.notebooks import NOTEBOOKS, main, notebook, with_notebook
from pages.outputs import agree
from pages.page_run import without_settings

SETTINGS = {"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1", "TZ": "UTC", "MPLBACKEND": "Agg"}


def executed(made: Any, folder: Path) -> Any:
    """A notebook after a run of all its cells in a kernel."""
    nbformat.validate(made)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    client = nbclient.NotebookClient(made, timeout=300, resources={"metadata": {"path": str(folder)}})
    return client.execute(env=without_settings() | SETTINGS | {"PATH": path})


def unlike(page: str, made: Any) -> list[str]:
    """The cells whose output is not that of the page. Of a table the words are compared: its numbers are noise."""
    ran = steps((ROOT / "docs" / page).read_text(encoding="utf-8"))
    cells = [cell for cell in made.cells if cell.cell_type == "code"]
    wrong = []
    for step, cell in zip(ran, cells, strict=True):
        tables = [output.data["text/html"] for output in cell.outputs if "text/html" in output.get("data", {})]
        printed = "".join(
            output.text if output.output_type == "stream" else output.data["text/plain"]
            for output in cell.outputs
            if output.get("name") != "stderr"
        )
        printed = re.sub(r"\x1b\[[\d;]*m", "", printed)  # a kernel asks what it starts for colours
        if step.expected is None:
            continue
        if tables:
            words = set(re.findall(r"[A-Za-z]{3,}", "\n".join(step.expected.lines[1:-1])))
            missing = {word for word in words if word not in tables[0]}
            wrong += [f"{step.line}: no {missing} in the table"] if missing else []
        elif not agree(step.expected.lines, printed.splitlines(), noisy=step.expected.noisy):
            wrong.append(f"{step.line}: {printed}")
    return wrong


@pytest.mark.docs
@pytest.mark.parametrize("page", NOTEBOOKS.values())
def test_a_notebook_runs_and_shows_what_its_page_shows(tmp_path: Path, page: str) -> None:
    made = executed(nbformat.reads(notebook(page), as_version=4), tmp_path)
    assert unlike(page, made) == []
    for cell in made.cells:
        cell.outputs = [nbformat.v4.new_output("stream", text="something else")]
    assert len(unlike(page, made)) > 5


@pytest.mark.docs
def test_the_first_block_of_the_readme_runs_in_a_kernel(tmp_path: Path) -> None:
    """DuckDB behaves otherwise in one: without ipywidgets it refuses to be told that it shall draw no bar."""
    block = next(step for step in steps((ROOT / "README.md").read_text(encoding="utf-8")) if step.language == "python")
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(block.code)])
    printed = "".join(output.text for output in executed(made, tmp_path).cells[0].outputs)
    assert block.expected
    assert agree(block.expected.lines, printed.splitlines(), noisy=block.expected.noisy)


def test_a_notebook_knows_where_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPO_URL", "https://github.com/somebody/sparsegate")
    monkeypatch.setenv("SITE_URL", "https://somebody.example.org/sparsegate/")
    main(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {Path(path).name for path in NOTEBOOKS}
    badge, install, first, *_ = json.loads((tmp_path / "first_audit.ipynb").read_text(encoding="utf-8"))["cells"]
    address = "https://colab.research.google.com/github/somebody/sparsegate/blob/notebooks/first_audit.ipynb"
    assert badge["source"].endswith(f"]({address})")
    library = "'sparsegate[plots] @ git+https://github.com/somebody/sparsegate' pytest"
    assert install["source"] == f"%pip install --quiet {library}"
    assert "https://somebody.example.org/sparsegate/project/readme.html#install" in first["source"]
    line = f"# A\n\n[This page as a notebook](first_audit.ipynb) · [open in Colab]({address})\n\nb"
    page = "tutorials/first_audit.md"
    assert with_notebook(page, "# A\n\nb", "https://github.com/somebody/sparsegate/") == line
    assert "Colab" not in with_notebook(page, "# A\n\nb", "https://example.org/a/b") + notebook(page)
    assert with_notebook("index.md", "# A\n\nb", "") == "# A\n\nb"
