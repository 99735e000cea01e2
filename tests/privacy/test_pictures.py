"""The picture of what every row leaks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sparsegate.gates import variants
from sparsegate.gates.variants import VARIANTS
from sparsegate.privacy import pictures
from sparsegate.privacy.pictures import line_style


def test_lines_are_told_apart_by_colour_and_by_marker() -> None:
    rows = [tuple(line_style(place).values()) for place in range(100)]
    assert len(set(rows)) == 100
    assert len({colour for colour, _ in rows[:15]}) == len({marker for _, marker in rows[:15]}) == 15


def test_every_row_has_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row added to the table is drawn without another edit, also one whose line covers another's."""
    more = {**VARIANTS, "again": replace(VARIANTS["standard"], key="again")}
    for module in (pictures, variants):
        monkeypatch.setattr(module, "VARIANTS", more)
    pictures.draw_losses(tmp_path / "loss.svg", cutoff=3, epsilon=1)
    drawn = (tmp_path / "loss.svg").read_text()
    assert [key for key in more if f"<!-- {key} (" not in drawn] == []
