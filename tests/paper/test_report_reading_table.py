"""The table of claims and readings: what depends on the reading comes first, and is marked."""

from __future__ import annotations

import re

from sparsegate.paper.findings import Judgement, Support
from sparsegate.paper.readings import SWITCHES
from sparsegate.paper.report import readings_body
from sparsegate.paper.statements import ReadingVerdicts

YES, NO = Support.SUPPORTED, Support.NOT_SUPPORTED
VERDICTS = ReadingVerdicts(
    by_reading={
        name: {
            key: Judgement(support=support, numbers=f"SER < {place}")
            for place, (key, support) in enumerate(zip(("same", "other"), found, strict=True))
        }
        for name, found in {"ours": (YES, NO), "passes=100": (YES, YES), "ser=totals": (YES, NO)}.items()
    }
)
BODY = readings_body(VERDICTS, {"same": "SER & FNR", "other": "5D"})


def test_what_depends_on_the_reading_comes_first_and_is_marked() -> None:
    assert BODY.index('href="#claim-other">5D<') < BODY.index('href="#claim-same">SER &amp; FNR<')
    changed = re.findall(r'class="changed" data-label="([^"]+)"', BODY)
    assert changed == ["passes=100"]


def test_every_verdict_has_its_numbers_and_every_question_is_asked() -> None:
    assert BODY.count('title="SER &lt; 0"') == BODY.count('title="SER &lt; 1"') == 3
    assert "1 of 2 verdicts are the same under all" in BODY
    assert all(switch.name in BODY for switch in SWITCHES.values())
