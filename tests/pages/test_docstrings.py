"""Docstrings on the site: nothing is mangled by Markdown, and what has a place in the reference links to it."""

from __future__ import annotations

import pytest
from pages.docstrings import as_markdown, modules, parameters, with_fields

SECTION = """What it does.

Parameters
----------
threshold : T, a public number.
low, high : the ends,
    as in 0 : 1, and ``Budget``.

>>> 1 + 1
2
"""


def test_the_parameters_are_those_of_the_section() -> None:
    assert parameters(SECTION) == ["threshold", "low", "high"]
    assert parameters("threshold : no section.") == []


def test_parameters_are_a_list_and_examples_are_code() -> None:
    assert as_markdown(SECTION) == (
        "What it does.\n\n**Parameters**\n\n- **threshold**: T, a public number.\n"
        "- **low, high**: the ends, as in 0 : 1, and [`Budget`][sparsegate.Budget].\n\n"
        "```pycon\n>>> 1 + 1\n2\n```"
    )


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("it is e**2/8 and k**2", r"it is e\*\*2/8 and k\*\*2"),
        ("a factor*x and 2*y", r"a factor\*x and 2\*y"),
        ("*Proof.* By (1)*(2). []", r"*Proof.* By (1)\*(2). ∎"),
        ("    e**2 * ``Budget``", "    e**2 * ``Budget``"),
        ("``a**b`` and ``sg.Ledger``", "``a**b`` and [`sg.Ledger`][sparsegate.Ledger]"),
        ("``Ledger.keep`` and `delta`", "[`Ledger.keep`][sparsegate.Ledger.keep] and `delta`"),
        ("see docs/reference/json.md.", "see [docs/reference/json.md](../../reference/json.md)."),
    ],
)
def test_formulas_stay_and_names_are_links(written: str, shown: str) -> None:
    assert as_markdown(written) == shown


@pytest.mark.parametrize(
    ("code", "place"),
    [
        ("``gates.bounds``", "sparsegate.gates.bounds"),
        ("``tree_model``", "sparsegate.uses.tree_model"),
        ("``alert_record.begin``", None),
        ("``windows_per_user``", None),
        ("``frequent_itemsets``", "sparsegate.uses.frequent_itemsets"),
    ],
)
def test_a_module_is_a_link_from_where_it_stands(code: str, place: str | None) -> None:
    shown = as_markdown(code, "sparsegate.uses.alerts")
    assert shown == code if place is None else shown.endswith(f"[{place}]")


def test_the_modules_of_a_docstring_have_their_whole_names() -> None:
    told = "By ``tree_model`` and ``gates.bounds``, as ``improved`` does."
    assert modules(told, "sparsegate.uses.alerts") == {
        "sparsegate.gates.bounds",
        "sparsegate.uses.tree_model",
    }
    assert modules(SECTION.replace("``Budget``", "``tables.sums``")) == {"sparsegate.tables.sums"}


def test_fields_stand_before_the_example() -> None:
    shown = with_fields("What.\n\n```pycon\n>>> 1\n```", {"one": "The\nfirst."})
    assert shown == "What.\n\n**Fields**\n\n- **one**: The first.\n\n```pycon\n>>> 1\n```"
