"""A public name in a page leads to the reference; code, headings and links stay as they are."""

from __future__ import annotations

import pytest
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
