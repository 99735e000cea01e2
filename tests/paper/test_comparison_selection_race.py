"""The comparison from end to end, small; and, in the soak, the default one with two seeds."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from sparsegate.errors import ParameterError
from sparsegate.paper import METHODS, Dataset, Ladder, compare
from sparsegate.paper import comparison as selection_race
from sparsegate.paper.comparison import (
    ComparisonResults,
    TimedRelease,
    headlines,
    read_comparison,
    release_options,
    time_release,
)
from sparsegate.paper.comparison_page import write_comparison_page
from sparsegate.paper.workers import ExperimentCase

LADDER = Ladder.of([2000 // rank for rank in range(1, 400)])
VISITS = Dataset(name="visits", title="Visits", kind="real", records=2000, description="pages", ladder=LADDER)
KEYS = ("em", "subset", "svt-dpbook", "alg-4", "alg-4-true", "svt-s-1:c23")
SMALL = {"datasets": [VISITS], "counts": [5, 20], "epsilon": [0.1, 1], "methods": KEYS, "peers": False}


def mine(scores, count, epsilon, rng):
    return (scores + rng.gumbel(0, count / epsilon, scores.size)).argsort()[-count:]


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> tuple[ComparisonResults, Path]:
    folder = tmp_path_factory.mktemp("compared")
    return compare(**SMALL, mine=[mine], most_runs=800, out=folder), folder


def rows(results: ComparisonResults, method: str) -> dict[tuple[float, int], dict[str, float]]:
    return {(row["epsilon"], row["count"]): row for row in results if row["method"] == method}


def test_every_method_has_a_row_for_each_case_with_errors_and_true_epsilon(found) -> None:
    results, _ = found
    assert len(results) == (len(KEYS) + 1) * 4
    for (epsilon, count), row in rows(results, "alg-4").items():
        assert row["true_epsilon"] == pytest.approx((1 + 3 * count) * epsilon / 4)
    assert all(row["true_epsilon"] == row["epsilon"] for row in rows(results, "alg-4-true").values())
    for row in results:
        assert 0 <= row["fnr_mean"] <= 1
        assert row["fnr_error"] < 0.05
        assert row["selected_mean"] == pytest.approx(row["count"]) or row["precision_mean"] != 1 - row["fnr_mean"]


def test_at_its_true_epsilon_alg_4_does_worse_than_as_claimed_and_than_the_standard_row(found) -> None:
    results, _ = found
    claimed, true, standard = (rows(results, key)[1, 20] for key in ("alg-4", "alg-4-true", "svt-s-1:c23"))
    noise = 5 * math.hypot(true["fnr_error"], standard["fnr_error"])
    assert claimed["fnr_mean"] + noise < standard["fnr_mean"]
    assert standard["fnr_mean"] + noise < true["fnr_mean"]


def test_what_decides_has_more_runs_than_what_does_not(found) -> None:
    results, _ = found
    assert rows(results, "subset")[1, 5]["runs"] == 800 > rows(results, "svt-dpbook")[1, 20]["runs"]
    assert rows(results, "alg-4")[1, 5]["runs"] == 100  # it cannot win


def test_mine_has_a_column_and_a_place(found) -> None:
    results, _ = found
    ours, theirs = rows(results, "em")[0.1, 20], rows(results, "mine")[0.1, 20]
    assert abs(ours["fnr_mean"] - theirs["fnr_mean"]) < 5 * math.hypot(ours["fnr_error"], theirs["fnr_error"])
    places = [cell.standing for cell in results.league("pure") if (cell.epsilon, cell.count) == (0.1, 20)]
    assert "mine" in {*places[0].winners, *places[0].behind, *places[0].undecided}


def no_noise(scores, count, epsilon, rng):
    return scores.argsort()[-count:]


def test_who_adds_no_noise_wins_and_the_page_says_that_nobody_checked(tmp_path: Path) -> None:
    results = compare(**SMALL | {"counts": [20], "epsilon": [0.1]}, mine=[no_noise], most_runs=200, out=tmp_path)
    (cell,) = results.league("pure")
    assert cell.standing.winners == ("no_noise",)
    assert [row["true_epsilon"] for row in results if row["method"] == "no_noise"] == [None]
    assert results.unchecked == read_comparison(tmp_path).unchecked == ["no_noise"]
    said = "no_noise; whether that is private was not checked, see sg.audit"
    assert headlines(results)["taken at their word"] == said
    page = write_comparison_page(tmp_path).read_text(encoding="utf-8")
    assert f"taken at their word: {said}." in page
    assert ">not checked</td>" in page


def test_dataframes_have_the_cases(found) -> None:
    results, _ = found
    frame = results.to_pandas()
    assert list(frame.columns) == results.table.column_names == results.to_polars().columns
    wide = frame[frame["epsilon"] == 1].pivot(index="method", columns="count", values="fnr_mean")
    assert wide.loc["em", 20] == rows(results, "em")[1, 20]["fnr_mean"]


def test_seconds_are_those_of_a_release_or_of_its_own_run(found) -> None:
    results, _ = found
    assert all(row["seconds"] is None for row in rows(results, "alg-4").values())
    assert all(row["seconds"] > 0 for key in ("em", "subset", "mine") for row in rows(results, key).values())


def test_a_folder_is_read_back_and_gone_on_with(found, monkeypatch: pytest.MonkeyPatch) -> None:
    results, folder = found
    again = read_comparison(folder)
    assert again.to_arrow().equals(results.to_arrow())
    assert [cell.row() for cell in again.winners] == [cell.row() for cell in results.winners]
    monkeypatch.setattr(ExperimentCase, "compute", None)  # nothing is simulated again
    monkeypatch.setattr(selection_race, "time_release", None)
    same = compare(**{**SMALL, "counts": [20]}, runs=100, most_runs=100, out=folder)
    assert len(same) == 2 * len(KEYS)


def test_another_seed_gives_other_numbers_and_no_other_winner(found) -> None:
    results, _ = found
    other = compare(**SMALL, mine=[mine], runs=200, most_runs=200, seed=1)
    assert rows(other, "em")[0.1, 20]["fnr_mean"] != rows(results, "em")[0.1, 20]["fnr_mean"]
    assert contradictions(results, other) == []


def contradictions(one: ComparisonResults, other: ComparisonResults) -> list[tuple[str, str, float, int, str]]:
    """Who wins in one and is behind in the other."""
    places = {(cell.dataset, cell.league, cell.epsilon, cell.count): cell.standing for cell in other.winners}
    return [
        (*place, key)
        for cell in one.winners
        for place in [(cell.dataset, cell.league, cell.epsilon, cell.count)]
        for key in {*cell.standing.winners} & {*places[place].behind}
        | {*cell.standing.behind} & {*places[place].winners}
    ]


@pytest.mark.soak
def test_the_whole_map_is_the_same_for_another_seed() -> None:
    one, other = (compare(peers=False, jobs=2, seed=seed) for seed in (0, 1))
    assert contradictions(one, other) == []
    undecided = sum(not cell.standing.decided for cell in one.winners)
    assert undecided < len(one.winners) / 5


def test_what_can_be_released_is_timed() -> None:
    told = {key: release_options(method) for key, method in METHODS.items()}
    assert told["em"] == {"method": "exponential"}
    assert told["gumbel"] == {"method": "gumbel", "delta": 1e-6}
    assert told["alg-4"] is told["svt-delta"] is told["svt-retr-1d"] is None
    for key in ("noisy-scores-10", "svt-s-1:1", "svt-retr-3d"):
        release = TimedRelease(dataset="visits", key=key, options=tuple(told[key].items()), count=5, epsilon=1)
        assert 0 < time_release((release, LADDER)) < 30


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "ser"}, "by must be one of fnr, total_ser"),
        ({"runs": 1}, "runs must be at least 2"),
        ({"runs": 900, "most_runs": 800}, "runs must be at least 2, and most_runs at least that"),
        ({"seed": -1}, "seed must be"),
        ({"methods": ["nobody"]}, "method must be the key of a method"),
        ({"counts": [500]}, "count must be less than the number of items"),
    ],
)
def test_what_makes_no_comparison_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{message}"):
        compare(**{**SMALL, **options})
