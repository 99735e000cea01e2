"""The picture of what planning gains."""

from __future__ import annotations

from pathlib import Path

from sparsegate.mechanisms.variants import VARIANTS
from sparsegate.privacy.pictures import LINES, draw_plan


def test_the_plan_is_drawn(tmp_path: Path) -> None:
    draw_plan(tmp_path / "plan.png", cutoff=4)
    assert (tmp_path / "plan.png").stat().st_size > 10_000


def test_lines_are_told_apart_by_colour_and_by_marker() -> None:
    assert {line.key for line in LINES} == set(VARIANTS)
    assert len({line.colour for line in LINES}) == len({line.marker for line in LINES}) == len(LINES)
