"""The comparison on public baskets: its truth, its rates, and what Lee and Clifton's gate costs."""

from __future__ import annotations

import itertools
import runpy
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparsegate as sg
from sparsegate.paper.uses.itemsets import (
    GATE,
    LISTED,
    PUBLISHED,
    TRUE,
    ItemsetRow,
    PublicBaskets,
    _rates,
    compare_itemsets,
)


def baskets(people: int = 3000, items: int = 60, seed: int = 7) -> list[set[int]]:
    rng = np.random.default_rng(seed)
    chances = 1.2 / np.arange(2, items + 2)
    return [set(np.flatnonzero(rng.random(items) < chances).tolist()) for _ in range(people)]


@pytest.fixture(scope="module")
def rows() -> dict[tuple[str, int], ItemsetRow]:
    found = compare_itemsets(baskets(), counts=(5, 30), epsilon=1, size=3, runs=6)
    return {(row.method, row.count): row for row in found}


def test_the_short_list_holds_the_best_sets() -> None:
    everybody = baskets(people=400)
    exact = Counter(
        members for who in everybody for size in (1, 2, 3) for members in itertools.combinations(sorted(who), size)
    )
    for smallest in (1, 2):
        best = sorted((n for members, n in exact.items() if len(members) >= smallest), reverse=True)[:25]
        supports = PublicBaskets(everybody).short_list(count=25, smallest=smallest, size=3)
        assert supports[:25].tolist() == best


def test_what_a_gate_claims_and_what_it_costs(rows: dict[tuple[str, int], ItemsetRow]) -> None:
    for count in (5, 30):
        factor = (1 + 3 * count) / 4
        assert rows[PUBLISHED, count].epsilon == rows[TRUE, count].true_epsilon == 1
        assert rows[PUBLISHED, count].true_epsilon == pytest.approx(factor)
        assert rows[TRUE, count].epsilon == pytest.approx(1 / factor)
        spent = sg.privacy.tight_epsilon(
            "lee-clifton-2014", cutoff=count, epsilon=rows[TRUE, count].epsilon, monotonic=True
        )
        assert float(spent) == pytest.approx(1)
    assert {row.true_epsilon for (method, _), row in rows.items() if method != PUBLISHED} == {1.0}


def test_at_its_true_epsilon_the_flawed_gate_finds_least(rows: dict[tuple[str, int], ItemsetRow]) -> None:
    missed = {method: rows[method, 30].fnr for method in (PUBLISHED, TRUE, GATE, LISTED, "items-first")}
    assert missed[TRUE] == max(missed.values())
    assert missed[TRUE] > missed[PUBLISHED] + 0.2
    assert missed["items-first"] < missed[TRUE] - 0.1


def test_rates_by_hand() -> None:
    best = np.array([9, 7, 5, 5])
    assert _rates(np.array([9, 5, 5, 5]), best) == (0.75, 0.25, pytest.approx(1 - 24 / 26))
    assert _rates(np.array([9, 7]), best) == (1.0, 0.5, pytest.approx(1 - 8 / 6.5))
    assert _rates(np.array([], dtype=int), best) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("wrong", "parameter"),
    [
        ({"counts": []}, "counts"),
        ({"counts": [0]}, "counts"),
        ({"counts": [10**4]}, "count"),
        ({"epsilon": 0}, "epsilon"),
        ({"runs": 0}, "runs"),
        ({"size": 1}, "size"),
        ({"selection": "gumbel"}, "selection"),
        ({"methods": ["guess"]}, "methods"),
        ({"baskets": [[], []]}, "baskets"),
    ],
)
def test_a_wrong_parameter_is_named(wrong: dict[str, Any], parameter: str) -> None:
    with pytest.raises(sg.ParameterError) as refused:
        compare_itemsets(**{"baskets": baskets(people=20)} | wrong)
    assert refused.value.parameter == parameter


def test_the_example_draws_its_picture(tmp_path: Path) -> None:
    example = runpy.run_path(str(Path(__file__).parents[3] / "examples" / "frequent_itemsets.py"))
    example["draw"](tmp_path / "sets.png", example["made_baskets"](people=1500), runs=1)
    assert (tmp_path / "sets.png").stat().st_size > 10_000
