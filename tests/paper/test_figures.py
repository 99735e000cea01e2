"""Figures: drawn from the results alone, honest about stand-ins and oracles, and without a trace in global style."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import pytest

from sparsegate.paper import figures, run
from sparsegate.paper.figures import _STYLE, ORACLE, _compare, _scores, comparisons, draw_all, swept_count
from sparsegate.paper.findings import Findings, load_findings

RUN = {
    "datasets": ["bms-pos", "zipf"],
    "data": {},
    "scale_to_records": False,
    "counts": [25, 50],
    "epsilon": [0.1],
    "methods": ["svt-dpbook", "svt-s-1:1", "svt-s-1:c23", "svt-retr-3d", "em"],
    "runs": 3,
    "seed": 1,
    "jobs": 1,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out")
    run(**RUN, out=out, further=True)
    return out


@pytest.fixture(scope="module")
def found(folder: Path) -> Findings:
    return load_findings(folder)


@pytest.fixture(scope="module")
def drawn(found: Findings) -> dict[str, Any]:
    with matplotlib.rc_context(_STYLE):
        return {one.name: _compare(one, found) for one in comparisons(found)}


def test_a_figure_is_written_as_svg_and_png_without_touching_the_style(
    found: Findings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = {name: figures.FIGURES[name] for name in ("scores", "retraversal", "without-c")}
    monkeypatch.setattr(figures, "FIGURES", some)
    before = dict(matplotlib.rcParams)
    paths = draw_all(found, tmp_path)
    assert dict(matplotlib.rcParams) == before
    assert set(paths) == {"scores", "retraversal"}
    for path in paths.values():
        assert path.read_text(encoding="utf-8").startswith("<?xml")
        assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_there_is_a_file_for_every_figure_of_the_page(found: Findings) -> None:
    assert {one.name for one in comparisons(found)} | {"scores"} <= set(figures.FIGURES)


def test_every_panel_names_its_dataset_and_calls_a_stand_in_one(drawn: dict[str, Any]) -> None:
    for figure in drawn.values():
        titles = [axes.get_title("left") for axes in figure.axes]
        assert titles == ["BMS-POS (stand-in), SER", "BMS-POS (stand-in), FNR", "Zipf, SER", "Zipf, FNR"]


def test_every_comparison_says_that_the_threshold_is_an_oracle(drawn: dict[str, Any]) -> None:
    assert all(ORACLE in figure.get_suptitle() for figure in drawn.values())


def test_one_legend_with_the_methods_that_were_run(drawn: dict[str, Any]) -> None:
    (legend,) = drawn["interactive"].legends
    assert [text.get_text() for text in legend.get_texts()] == ["SVT-DPBook", "SVT-S 1:1", "SVT-S 1:c^(2/3)"]


def test_a_line_shows_the_numbers_of_the_results(found: Findings, drawn: dict[str, Any]) -> None:
    axes = drawn["non-interactive"].axes[3]
    shown = axes.lines[-1].get_ydata().tolist()
    assert shown == [found.get("zipf", "em", count).fnr_mean for count in (25, 50)]


def test_em_is_on_top_and_has_its_name_beside_it(drawn: dict[str, Any]) -> None:
    axes = drawn["non-interactive"].axes[0]
    assert [text.get_text() for text in axes.texts] == ["EM"]
    assert axes.lines[-1].get_marker() == "*"


def test_an_error_bar_is_two_standard_errors_to_each_side(found: Findings, drawn: dict[str, Any]) -> None:
    axes = drawn["interactive"].axes[0]
    (low, high) = axes.collections[0].get_segments()[0][:, 1]
    row = found.get("bms-pos", "svt-dpbook", 25)
    assert (high - low, (high + low) / 2) == pytest.approx((4 * row.ser_error, row.ser_mean))


def test_each_panel_has_an_axis_of_its_own(drawn: dict[str, Any]) -> None:
    ser, fnr = drawn["non-interactive"].axes[:2]
    assert ser.get_ylim() != fnr.get_ylim()


def test_the_figure_against_epsilon_stays_at_one_c(found: Findings, drawn: dict[str, Any]) -> None:
    assert swept_count(found) == 50
    assert drawn["epsilon"].axes[0].lines[0].get_xdata().tolist() == [0.05, 0.1, 0.2, 0.4, 0.8]


def test_scores_are_on_a_log_scale_with_stand_ins_named(found: Findings) -> None:
    (axes,) = _scores(found).axes
    assert axes.get_yscale() == "log"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["BMS-POS (stand-in)", "Zipf"]
    assert [len(line.get_xdata()) for line in axes.lines] == [300, 300]


def test_a_figure_without_two_of_its_methods_is_left_out(tmp_path: Path) -> None:
    run(datasets=["zipf"], counts=[25], methods=["em", "svt-retr-1d"], runs=2, out=tmp_path)
    found = load_findings(tmp_path)
    assert [one.name for one in comparisons(found)] == ["non-interactive"]
