"""Maps and page: letters that tell methods apart, cells that say who wins, and a page that stands alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sparsegate.paper import METHODS, compare
from sparsegate.paper.charts import MapCell, MapChart
from sparsegate.paper.comparison import LEAGUES, PEERS, CellPlaces, ComparisonResults, headlines, read_comparison
from sparsegate.paper.comparison_page import (
    BEST,
    CLAIMED,
    COSTS,
    TRUE,
    cell_text,
    legend,
    letters,
    method_styles,
    shown_in,
    winner_map,
    write_comparison_page,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    keys = ("em", "svt-dpbook", "alg-3", "alg-4", "alg-4-true", "svt-s-1:c23")
    out = tmp_path_factory.mktemp("mapped")
    grid = {"datasets": ["zipf"], "counts": [10, 100], "epsilon": [0.1, 0.3]}
    compare(**grid, methods=keys, peers=False, runs=400, most_runs=400, out=out)
    return out


@pytest.fixture(scope="module")
def found(folder: Path) -> ComparisonResults:
    return read_comparison(folder)


def test_no_two_methods_have_the_same_letters() -> None:
    named = letters([*METHODS, *PEERS, "mine", "subset-2", "em2"])
    assert len(set(named.values())) == len(named)
    assert all(1 <= len(letter) <= 2 for letter in named.values())


@pytest.mark.parametrize(
    ("winners", "undecided", "text"),
    [
        ("a", "", "A"),
        ("ab", "", "A=B"),
        ("abc", "", "3 tie"),
        ("abc", "d", "3 tie?"),
        ("a", "bc", "A B? C?"),
        ("", "abc", "3?"),
        ("a", "bcd", "A 3?"),
    ],
)
def test_a_cell_names_its_winners_and_who_may_be_one(winners: str, undecided: str, text: str) -> None:
    place = CellPlaces(winners=tuple(winners), behind=(), undecided=tuple(undecided), unsure={}, best=0.0)
    assert cell_text(place, {key: key.upper() for key in "abcd"}) == text
    assert [key.upper() for key in shown_in(place)] == re.findall("[A-D]", text)


def test_the_map_has_the_winner_of_each_cell_with_large_c_on_top(found: ComparisonResults) -> None:
    chart = winner_map(found, LEAGUES[0], "zipf")
    assert chart.rows == ["100", "10"]
    assert chart.columns == ["0.1", "0.3"]
    top = chart.cells[0][0]
    assert top.text == "E"
    assert top.style is not None
    assert "wins: EM" in top.says
    assert legend(found, LEAGUES[0])["E"] == "EM"
    assert chart.svg().count("<rect") == 4


@pytest.mark.parametrize(("sure", "kind"), [(True, "tile"), (False, "tile open")])
def test_a_sure_winner_that_others_may_tie_with_is_pale(sure: bool, kind: str) -> None:
    cell = MapCell(text="E", style=method_styles(["em"])["em"], sure=sure)
    chart = MapChart(title="", columns=["1"], rows=["10"], cells=[[cell]], x_label="ε", y_label="c")
    assert f'<g class="{kind}"' in chart.svg()


@pytest.mark.parametrize("figure", [CLAIMED, TRUE, COSTS, BEST])
def test_no_two_lines_of_a_figure_have_a_colour_and_each_has_one_everywhere(figure: tuple[str, ...]) -> None:
    drawn = method_styles(figure)
    assert len({style.light for style in drawn.values()}) == len(figure)
    assert drawn == {key: style for key, style in method_styles(METHODS).items() if key in figure}


def test_a_league_is_told_in_a_sentence(found: ComparisonResults) -> None:
    told = headlines(found)
    assert told["ε"].startswith("of 4 cells EM wins ")
    numbers = re.findall(r"\d+", told["ε"].removeprefix("of 4 cells "))
    assert sum(map(int, numbers)) == 4


def test_the_page_stands_alone_and_says_what_has_no_epsilon(folder: Path) -> None:
    page = write_comparison_page(folder).read_text(encoding="utf-8")
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
    assert "no ε" in page
    assert all(f'id="{name}"' in page for name in ("maps", "true", "errors", "seconds", "numbers", "run"))
    assert 'id="peers"' not in page  # none was run
    assert {path.name for path in (folder / "figures").iterdir()} >= {"winners-pure.svg", "winners-pure.png"}
    for file in re.findall(r'href="([^"#]+)" download', page):
        assert (folder / file).is_file()
