"""A public name in a page leads to the reference; code, headings and links stay as they are. What is named exists."""

from __future__ import annotations

import importlib
import re

import pytest
from pages.blocks import ROOT, pages
from pages.name_links import NAMES_PAGE, name_links


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Use `sg.laplace`.", "Use [`sg.laplace`][sparsegate.laplace]."),
        ("`sg.privacy.loss(...)` is", "[`sg.privacy.loss(...)`][sparsegate.privacy.loss] is"),
        ("`sg.Ledger.keep`", "[`sg.Ledger.keep`][sparsegate.Ledger]"),
        ("`sg.nothing` and `laplace`", "`sg.nothing` and `laplace`"),
        ("[`sg.laplace`](x.md) ![`sg.run`](y.png)", "[`sg.laplace`](x.md) ![`sg.run`](y.png)"),
        ("# `sg.run` here", "# `sg.run` here"),
        ("```python\n`sg.run`\n```\n`sg.run`", "```python\n`sg.run`\n```\n[`sg.run`][sparsegate.run]"),
        ("| `run` | Runs. |", "| `run` | Runs. |"),
    ],
)
def test_a_public_name_leads_to_the_reference(written: str, shown: str) -> None:
    assert name_links("how-to/top.md", written) == shown


def test_the_table_of_names_leads_to_each() -> None:
    table = "| Name | What |\n| --- | --- |\n| `run` | `run` it. |\n| `privacy.loss` | Loss. |\n"
    linked = table.replace("| `run` |", "| [`run`][sparsegate.run] |")
    linked = linked.replace("`privacy.loss`", "[`privacy.loss`][sparsegate.privacy.loss]")
    assert name_links(NAMES_PAGE, table) == linked


NO_NAMES = {"sparsegate.methods"}
"""An entry point of this group is a method."""

NO_FILES = {"tables/engines/NAME.py"}
"""To be written by the reader."""

BELOW = ("", "src", "src/sparsegate", "src/sparsegate/paper")
"""Where the path of a file may begin."""


def spans(page: str) -> list[str]:
    """The code in the sentences of a page."""
    return re.findall(r"`([^`]+)`", re.sub(r"(?ms)^ *```.*?^ *```", "", page))


def names(page: str) -> set[str]:
    told = [
        name
        for span in spans(page)
        for name in re.findall(r"(?<![\w./@-])(?:sg|sparsegate)((?:\.[A-Za-z_]\w*)+)", span)
    ]
    return {f"sparsegate{name}" for name in told} - NO_NAMES


def files(page: str) -> set[str]:
    told = [re.findall(r"(?<![\w./-])((?:[\w-]+/)+[\w-]+\.(?:py|v|md|sh|yml))\b", span) for span in spans(page)]
    return {file for found in told for file in found} - NO_FILES


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part, None)
        return found is not None
    return False


def test_every_name_and_every_file_in_a_sentence_exists() -> None:
    texts = [page.read_text(encoding="utf-8") for page in pages()]
    assert [name for text in texts for name in names(text) if not exists(name)] == []
    told = {file for text in texts for file in files(text)}
    assert [file for file in told if not any((ROOT / place / file).exists() for place in BELOW)] == []


def test_what_does_not_exist_is_found() -> None:
    page = "`sg.select_topp` `sparsegate.nowhere.x` `sg.Ledger.spend` `tests/none.py` `examples/demo.py`\n"
    page += "```python\nsg.unseen\n```\n"
    assert {name for name in names(page) if not exists(name)} == {"sparsegate.select_topp", "sparsegate.nowhere.x"}
    assert files(page) == {"tests/none.py", "examples/demo.py"}


def test_links_are_those_of_markdown() -> None:
    """The build does not look for what an HTML tag leads to."""
    html = [page.name for page in pages() if re.search(r"<\w[^>]* (?:href|src)=", page.read_text(encoding="utf-8"))]
    assert html == []
