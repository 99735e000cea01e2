"""Maps and page: letters that tell methods apart, cells that say who wins, and a page that stands alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sparsegate.paper import METHODS, compare
from sparsegate.paper.comparison import LEAGUES, PEERS, CellPlaces, ComparisonResults
from sparsegate.paper.comparison_page import (
    BEST,
    CLAIMED,
    COSTS,
    TRUE,
    cell_text,
    legend,
    letters,
    method_styles,
    winner_maps,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("mapped")


@pytest.fixture(scope="module")
def results(folder: Path) -> ComparisonResults:
    keys = ("em", "svt-dpbook", "alg-3", "alg-4", "alg-4-true", "svt-s-1:c23")
    grid = {"datasets": ["zipf"], "counts": [10, 100], "epsilon": [0.1, 0.3]}
    return compare(**grid, methods=keys, peers=False, runs=400, most_runs=400, out=folder)


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
    places = CellPlaces(winners=tuple(winners), undecided=tuple(undecided))
    assert cell_text(places, {key: key.upper() for key in "abcd"}) == text


def test_the_map_has_the_winner_of_each_cell_with_large_c_on_top(results: ComparisonResults) -> None:
    chart = winner_maps(results, LEAGUES[0])["zipf"]
    assert (chart.rows, chart.columns) == (["100", "10"], ["0.1", "0.3"])
    top = chart.cells[0][0]
    assert top.text == "E"
    assert top.style is not None
    assert "wins: EM" in top.says
    assert legend(results, LEAGUES[0])["E"] == "EM"
    assert chart.svg().count("<rect") == 4


@pytest.mark.parametrize("figure", [CLAIMED, TRUE, COSTS, BEST])
def test_no_two_lines_of_a_figure_have_a_colour_and_each_has_one_everywhere(figure: tuple[str, ...]) -> None:
    drawn = method_styles(figure)
    assert len({style.light for style in drawn.values()}) == len(figure)
    assert drawn == {key: style for key, style in method_styles(METHODS).items() if key in figure}


def test_the_page_stands_alone_and_says_what_has_no_epsilon(results: ComparisonResults, folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
    assert "no ε" in page
    assert all(f'id="{name}"' in page for name in ("maps", "true", "errors", "seconds", "numbers", "run"))
    assert 'id="peers"' not in page  # none was run
    assert {path.name for path in (folder / "figures").iterdir()} >= {"winners-pure.svg", "winners-pure.png"}
    files = re.findall(r'href="([^"#]+)" download', page)
    assert [file for file in files if not (folder / file).is_file()] == []
    assert results.plot().axes[0].get_title("left").startswith("Zipf: who wins")
