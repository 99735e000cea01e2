"""What a budget buys, by the features that make it last: a section each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sparsegate as sg
from benchmarks.measure import Result

CELLS, ALARMS, CELLS_PER_USER = 10_000, 500, 3


def cells() -> Iterator[Result]:
    """Alarms over public cells: a gate for each of them, against one gate for all of them."""
    asked: dict[str, Any] = {"epsilon": 1, "sensitivity": 1, "monotonic": True}
    ours = sg.Gates.preview(cells=CELLS, cells_per_user=CELLS_PER_USER, cutoff=1, **asked).margin
    peer = sg.SparseVector.preview(cutoff=ALARMS, **asked).margin
    yield Result(
        benchmark=f"cells: margin of {ALARMS} alarms over {CELLS:,} cells, a person in {CELLS_PER_USER}, epsilon 1",
        ours=ours,
        peer=peer,
        unit="people",
        ratio=float(f"{ours / peer:.3g}"),
        target="<= 16",
        judged="ours",
        details={"peer_name": f"one gate, cutoff {ALARMS}"},
    )


SECTIONS = (cells,)


def results() -> Iterator[Result]:
    for section in SECTIONS:
        yield from section()
