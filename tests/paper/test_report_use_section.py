"""The section on the uses: every number is there, with what the original truly costs."""

from __future__ import annotations

import math
from dataclasses import replace

from tests.support.made_findings import use_row

from sparsegate.paper.findings import CLAIMED, CORRECTED
from sparsegate.paper.report import use_section


def test_each_use_has_a_panel_each_epsilon_a_view_and_each_row_a_line() -> None:
    rows = [
        use_row(use, mechanism, mean, epsilon=epsilon)
        for use in ("itemsets", "features")
        for epsilon in (0.1, 1.0)
        for mechanism, mean in ((CLAIMED, 0.125), (CORRECTED, 0.625))
    ]
    section = use_section(rows)
    assert section is not None
    assert [section.body.count(text) for text in ("<h4>", "<svg", "<tr>")] == [2, 4, 9]
    assert section.body.count('class="view-') == 2
    assert "0.12, costs 0.9" in section.body
    assert "0.62" in section.body
    assert 'href="uses.csv"' in section.body


def test_what_has_no_epsilon_says_so() -> None:
    row = replace(use_row("features", CLAIMED, 0.125), true_epsilon=math.inf)
    section = use_section([row])
    assert section is not None
    assert "costs ∞" in section.body


def test_without_uses_there_is_no_section() -> None:
    assert use_section([]) is None
