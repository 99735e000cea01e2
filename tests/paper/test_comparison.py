"""The comparison: who takes part, who wins against the true means, all of it from end to end, small, and its page."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from sparsegate.errors import ParameterError
from sparsegate.paper import METHODS, Dataset, Ladder, SuppliedMethod, compare, comparison, measure, simulate
from sparsegate.paper import comparison_page as page
from sparsegate.paper.comparison import COMPARED, LEAGUES, PEERS, CellPlaces, ComparisonResults, standing
from sparsegate.paper.decisions import CHOSEN, MARGIN, Quantity, mean_over_runs
from sparsegate.paper.experiments import ExperimentCase
from sparsegate.paper.results import CellKey

DEFAULT_SIGMAS = comparison.sigmas(cells=120, contestants=27, looks=8)


def members(key: str, count: int = 25) -> set[str]:
    (league,) = [league for league in LEAGUES if league.key == key]
    return {key for key in COMPARED if league.admits(METHODS[key], count=count, epsilon=0.1)}


def error(key: str, mean: float, std: float, runs: int, sigmas: float) -> Quantity:
    return mean_over_runs((CellKey("visits", key, 0.1, 25), "fnr"), mean, std, runs, sigmas=sigmas)


def places_of(measured: dict[str, tuple[float, float, int]], sigmas: float = 6) -> CellPlaces:
    return standing({key: error(key, *seen, sigmas) for key, seen in measured.items()})


def test_nobody_wins_who_costs_more_than_is_asked_for_or_needs_another_promise() -> None:
    flawed = {"alg-3", "alg-4", "alg-5", "alg-6"}
    assert set(COMPARED) - members("delta") == flawed | {"noisy-scores-1", "noisy-scores-10"}
    assert members("delta") - members("pure") == {"gumbel", "svt-delta"}
    assert members("touched") - members("pure") == {"noisy-scores-10"}
    assert members("gate") == {key for key in members("pure") if METHODS[key].interactive}
    assert members("pure", count=1) - members("pure", count=2) == {"alg-4"}  # true as claimed at one positive


def test_a_method_of_your_own_is_taken_at_its_word_and_with_a_delta_if_it_has_one() -> None:
    def loose(scores: object, count: int, epsilon: float, rng: object, delta: float) -> range:
        return range(count)

    def admitted(*methods: object) -> list[list[bool]]:
        contestants = comparison.contestants([], methods, peers=False)
        return [[league.admits(each, count=5, epsilon=0.1) for league in LEAGUES] for each in contestants]

    assert admitted(lambda scores, count, epsilon, rng: range(count)) == [[True, True, True, False]]
    assert admitted(loose) == [[True, True, True, False], [False, True, False, False]]
    peer = replace(PEERS["opendp"], version="1")
    mine = SuppliedMethod.of(lambda scores, count, epsilon, rng: [])
    for method, most in ((METHODS["em"], [800, 800]), (mine, [20, 4]), (peer, [0, 0])):
        limits = [comparison.run_limit(method, total=total, count=10, most=800) for total in (10**6, 10**8)]
        assert limits == most, "who sees every score is run less often"


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_is_about_as_far_off_as_the_nearest_of_ours(name: str) -> None:
    """Five standard errors are passed by 6e-7 of samples; at twice the epsilon the same test rejects."""
    pytest.importorskip(name)
    scores = np.round(3000 / np.arange(1, 301) ** 0.7)
    ladder, rng = Ladder.of(scores), np.random.default_rng(1)
    theirs = simulate(PEERS[name], ladder, count=5, epsilon=0.05, runs=300, rng=rng)
    gaps = []
    for epsilon in (0.05, 0.1):
        ours = simulate(comparison.NEAREST[name], ladder, count=5, epsilon=epsilon, runs=20_000, rng=rng)
        one, other = (measure(ladder, rungs, count=5).fnr for rungs in (theirs, ours))
        gaps.append(abs(one.mean() - other.mean()) / (other.std() * np.sqrt(1 / one.size + 1 / other.size)))
    assert gaps[0] < 5 < gaps[1]


def worlds(runs: int, z: float) -> tuple[int, int]:
    """Of 500 cells with known means: how many places are wrong, and how many are undecided."""
    rng, keys = np.random.default_rng(4), tuple("abcdef")
    wrong = undecided = 0
    for _ in range(500):
        true = dict(zip(keys, rng.choice([0.0, 0.01, 0.03, 0.06, 0.1], len(keys)), strict=True))
        # A run is an all-or-nothing failure, the law of the largest deviation.
        seen = {key: rng.binomial(runs, mean) / runs for key, mean in true.items()}
        errors = {key: (mean, float(np.sqrt(mean * (1 - mean))), runs) for key, mean in seen.items()}
        places, best = places_of(errors, z), min(true.values())
        wrong += sum(true[key] > best + MARGIN for key in places.winners)
        wrong += sum(true[key] <= best + MARGIN for key in places.behind)
        undecided += len(places.undecided)
    return wrong, undecided


def test_who_wins_by_intervals_does_win_and_by_means_alone_often_does_not() -> None:
    z = comparison.sigmas(cells=500, contestants=6, looks=1)
    wrong, few = worlds(1600, z)
    assert wrong == 0
    assert worlds(100_000, z)[1] < few / 5  # with enough runs it is known
    assert worlds(1600, 0.5)[0] > 25


NEVER, VAGUE = (0.0, 0.0, 10**6), (0.0, 0.3, 400)


@pytest.mark.parametrize(
    ("measured", "winners", "undecided"),
    [
        (dict.fromkeys("ab", (0.0, 0.0, 800)), "", "ab"),  # no deviation says little until there are many
        (dict.fromkeys("ab", (0.0, 0.0, 1600)), "ab", ""),
        (dict.fromkeys("ab", (0.0, math.nan, 1)), "", "ab"),
        ({"s": (0.05, 0.0, 10**6), "v": (0.05, 0.3, 400)}, "", "sv"),  # a rival may be better
        ({"s": NEVER, "v": VAGUE}, "s", "v"),  # unless nobody is below 0
    ],
)
def test_who_may_win_is_undecided_until_it_is_known(
    measured: dict[str, tuple[float, float, int]], winners: str, undecided: str
) -> None:
    places = places_of(measured)
    assert (places.winners, places.undecided) == (tuple(winners), tuple(undecided))


def test_what_is_open_says_how_many_times_its_runs_would_decide() -> None:
    def places(runs: int) -> CellPlaces:
        return places_of({"a": (0.1, 0.1, runs), "b": (0.16, 0.1, runs)})

    wanting = {cell.method: times for cell, times in places(500).wanting.items()}
    assert wanting.keys() == {"a", "b"}
    assert places(int(510 * wanting["b"])).behind == ("b",)
    assert places(int(300 * wanting["b"])).undecided == ("b",)


def coin(heads: int, runs: int) -> tuple[float, float, int]:
    share = heads / runs
    return share, math.sqrt(share * (1 - share) * runs / (runs - 1)), runs


@pytest.mark.parametrize(("factor", "wrong"), [(1.0, False), (0.8, True)])
def test_rare_failures_make_a_wrong_place_no_more_likely_than_stated(factor: float, wrong: bool) -> None:
    """Exactly, of a coin on the border of those who tie with one that never fails. The twin: 20 % off."""
    assert stats.norm.sf(DEFAULT_SIGMAS) * 120 * 27 * 26 * 8 * CHOSEN == pytest.approx(comparison.FALSE_MAP)
    runs, never = 1600, (0.0, 0.0, 10**9)
    heads = np.arange(runs // 8)
    cells = [places_of({"never": never, "coin": coin(n, runs)}, factor * DEFAULT_SIGMAS) for n in heads.tolist()]
    chances = stats.binom.pmf(heads, runs, MARGIN)
    ties, behind = (
        float(chances[["coin" in getattr(cell, part) for cell in cells]].sum()) for part in ("winners", "behind")
    )
    assert bool(max(ties, behind) > stats.norm.sf(DEFAULT_SIGMAS)) is wrong


LADDER = Ladder.of([2000 // rank for rank in range(1, 400)])
VISITS = Dataset(name="visits", title="Visits", kind="real", records=2000, description="pages", ladder=LADDER)
KEYS = ("em", "subset", "svt-dpbook", "alg-3", "alg-4", "alg-4-true", "svt-s-1:c23")
SMALL = {"datasets": [VISITS], "counts": [5, 20], "epsilon": [0.1, 1], "methods": KEYS, "peers": False}


def mine(scores, count, epsilon, rng):
    return (scores + rng.gumbel(0, count / epsilon, scores.size)).argsort()[-count:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("compared")


@pytest.fixture(scope="module")
def results(folder: Path) -> ComparisonResults:
    return compare(**SMALL, mine=[mine], most_runs=800, out=folder)


def rows(results: ComparisonResults, method: str) -> dict[tuple[float, int], dict[str, float]]:
    return {(row["epsilon"], row["count"]): row for row in results if row["method"] == method}


def test_every_method_has_a_row_for_each_case_with_errors_seconds_and_true_epsilon(results: ComparisonResults) -> None:
    assert len(results) == (len(KEYS) + 1) * 4
    for (epsilon, count), row in rows(results, "alg-4").items():
        assert row["true_epsilon"] == pytest.approx((1 + 3 * count) * epsilon / 4)
        assert row["seconds"] is None
    assert all(row["true_epsilon"] == row["epsilon"] for row in rows(results, "alg-4-true").values())
    assert all(row["seconds"] > 0 for key in ("em", "subset", "mine") for row in rows(results, key).values())
    for row in results:
        assert 0 <= row["fnr_mean"] <= 1
        assert row["fnr_error"] < 0.05
        assert row["selected_mean"] == pytest.approx(row["count"]) or row["precision_mean"] != 1 - row["fnr_mean"]


def test_what_decides_has_more_runs_and_mine_a_place(results: ComparisonResults) -> None:
    assert rows(results, "subset")[1, 5]["runs"] == 800 > rows(results, "svt-dpbook")[1, 20]["runs"]
    assert rows(results, "alg-4")[1, 5]["runs"] == 100  # it cannot win
    (places,) = (cell.standing for cell in results.league("pure") if (cell.epsilon, cell.count) == (0.1, 20))
    assert "mine" in {*places.winners, *places.behind, *places.undecided}
    chart = page.winner_maps(results, LEAGUES[0])["visits"]
    assert (chart.rows, chart.columns) == (["20", "5"], ["0.1", "1"])  # large c on top
    assert chart.cells[0][0].text == page.cell_text(places, page.letters(dict.fromkeys(results["method"])))
    assert (chart.cells[0][0].style is not None) == (len(places.winners) == 1)
    told = {
        key: comparison.release_options(METHODS[key]) for key in ("em", "gumbel", "alg-4", "svt-delta", "svt-retr-1d")
    }
    assert list(told.values()) == [{"method": "exponential"}, {"method": "gumbel", "delta": 1e-6}, None, None, None]
    cells = [CellPlaces(winners=tuple(winners)) for winners in ("a", "ba", "b", "b")]
    cells.append(CellPlaces(winners=("c",), undecided=("a",)))
    assert comparison.tallied(cells) == {"b": (2, 1), "a": (1, 1), "c": (0, 1)}


def no_noise(scores, count, epsilon, rng):
    return scores.argsort()[-count:]


def test_who_adds_no_noise_wins_and_the_page_says_that_nobody_checked(tmp_path: Path) -> None:
    results = compare(**SMALL | {"counts": [20], "epsilon": [0.1]}, mine=[no_noise], most_runs=200, out=tmp_path)
    (cell,) = results.league("pure")
    assert cell.standing.winners == ("no_noise",)
    assert [row["true_epsilon"] for row in results if row["method"] == "no_noise"] == [None]
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"taken at their word: {comparison.headlines(results)['taken at their word']}." in text
    assert ">not checked</td>" in text


def test_a_folder_is_gone_on_with(results: ComparisonResults, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ExperimentCase, "compute", None)  # nothing is simulated again
    monkeypatch.setattr(comparison, "time_release", None)
    same = compare(**{**SMALL, "counts": [20]}, runs=100, most_runs=100, out=folder)
    assert len(same) == 2 * len(KEYS)


BAD = [
    *(
        ({"by": "ser"}, "by"),
        ({"runs": 1}, "runs"),
        ({"runs": 900, "most_runs": 800}, "runs"),
        ({"uses": True}, "uses"),
    ),
    *(({"seed": -1}, "seed"), ({"methods": ["nobody"]}, "method"), ({"counts": [500]}, "count")),
]


@pytest.mark.parametrize(("options", "parameter"), BAD)
def test_what_makes_no_comparison_is_refused(options: dict[str, object], parameter: str) -> None:
    with pytest.raises(ParameterError) as refused:
        compare(**{**SMALL, **options})
    assert refused.value.parameter == parameter


CELLS = [("a", "", "A"), ("ab", "", "A=B"), ("abc", "d", "3 tie?"), ("a", "bc", "A B? C?"), ("a", "bcd", "A 3?")]


@pytest.mark.parametrize(("winners", "undecided", "text"), CELLS)
def test_a_cell_names_its_winners_and_who_may_be_one(winners: str, undecided: str, text: str) -> None:
    places = CellPlaces(winners=tuple(winners), undecided=tuple(undecided))
    assert page.cell_text(places, {key: key.upper() for key in "abcd"}) == text


def test_the_page_stands_alone_and_says_what_has_no_epsilon(results: ComparisonResults, folder: Path) -> None:
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert not re.search(r'(?:src|href)="(?:https?:)?//', text)
    assert "no ε" in text
    assert all(f'id="{name}"' in text for name in ("maps", "true", "errors", "seconds", "numbers", "run"))
    assert 'id="peers"' not in text  # none was run
    files = re.findall(r'href="([^"#]+)" download', text)
    assert [file for file in files if not (folder / file).is_file()] == []
    assert results.plot().axes[0].get_title("left").startswith("Visits: who wins")
    assert list(results.to_pandas().columns) == results.table.column_names == results.to_polars().columns
    texts = page.latex_maps(results, LEAGUES[0])
    assert [text.count(r"\\") for text in texts.values()] == [1 + len(set(results["count"]))]
