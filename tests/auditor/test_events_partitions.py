"""A cell is a function of one outcome: the same in any order, in any company and alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsegate.auditor.encoding import Encoder, Sample, joined
from sparsegate.auditor.events import Atoms, Bins, Partition, Slices

RUNS = 4000


def lattice_noise(answers: list[int], n: int, rng: np.random.Generator) -> np.ndarray:
    """Two whole numbers with geometric noise: few outcomes, so that many of them share a score."""
    return np.array(answers) + rng.geometric(0.5, (n, 2)) - rng.geometric(0.5, (n, 2))


def real_noise(answers: list[int], n: int, rng: np.random.Generator) -> np.ndarray:
    """Two doubles, now and then infinite or NaN."""
    odd = rng.choice([0.0, 0.0, 0.0, np.inf, -np.inf, np.nan], (n, 2))
    return np.array(answers) + rng.laplace(size=(n, 2)) + odd


def transcripts(answers: list[int], n: int, rng: np.random.Generator) -> list:
    """Tuples of many lengths and kinds."""
    above = answers[0] + rng.laplace(size=(n, 5)) > 1
    return [
        (*row[: 1 + int(np.argmax(row))].tolist(), "cut" if row[0] else None, *((float(place % 50),) * int(row[1])))
        for place, row in enumerate(above)
    ]


MECHANISMS: dict[str, Callable] = {"lattice": lattice_noise, "reals": real_noise, "transcripts": transcripts}


@cache
def trained(name: str, kind: str) -> tuple[Partition, Sample]:
    """A partition learned from two samples, and fresh outcomes to look up in it."""
    encoder, rng = Encoder("test"), np.random.default_rng(1)
    one, other, fresh = (
        encoder.encode(MECHANISMS[name](answers, RUNS, rng), RUNS) for answers in ([1, 1], [0, 0], [1, 0])
    )
    if kind == "atoms":
        return Atoms.learned(joined([one, other])), fresh
    if kind == "bins":
        found = Bins.learned(joined([one, other]))
        return found if found is not None else Atoms.learned(one), fresh
    if kind == "boosting":
        pytest.importorskip("sklearn")
    scored = Slices.learned(one, other, boosted=kind == "boosting", seed=1)
    assert scored is not None
    return scored, fresh


KINDS = ["atoms", "bins", "logistic", "boosting"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MECHANISMS)
@given(order=st.randoms(use_true_random=False), ends=st.lists(st.integers(0, 600), max_size=12))
@settings(max_examples=5, deadline=None)
def test_cells_do_not_depend_on_the_order_or_the_company(name: str, kind: str, order, ends: list[int]) -> None:
    partition, fresh = trained(name, kind)
    places = list(range(600))
    order.shuffle(places)
    together = partition.cells(fresh)[places]
    bounds = sorted({0, *ends, 600})
    for begin, end in itertools.pairwise(bounds):
        chosen = places[begin:end]
        part = Sample(word=fresh.word[chosen], columns=fresh.columns[chosen])
        assert partition.cells(part).tolist() == together[begin:end].tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_an_outcome_alone_has_the_cell_it_has_among_others(name: str, kind: str) -> None:
    partition, fresh = trained(name, kind)
    alone = [int(partition.cells(fresh.part(slice(place, place + 1)))[0]) for place in range(60)]
    assert alone == partition.cells(fresh)[:60].tolist()
    assert len(set(alone)) > 1


@pytest.mark.parametrize("kind", KINDS[2:])
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_score_is_the_same_to_the_last_bit_alone_and_in_company(name: str, kind: str) -> None:
    scored, fresh = trained(name, kind)
    assert isinstance(scored, Slices)
    for size in (3, 17):
        parts = [scored.score(fresh.part(slice(begin, begin + size))) for begin in range(0, 51, size)]
        assert np.array_equal(np.concatenate(parts)[:51], scored.score(fresh)[:51])


@pytest.mark.parametrize("kind", KINDS[2:])
@pytest.mark.parametrize("name", MECHANISMS)
def test_no_outcome_of_training_is_so_close_to_a_cut_that_rounding_could_move_it(name: str, kind: str) -> None:
    encoder, rng = Encoder("test"), np.random.default_rng(1)
    one, other = (encoder.encode(MECHANISMS[name](answers, RUNS, rng), RUNS) for answers in ([1, 1], [0, 0]))
    scored, _ = trained(name, kind)
    assert isinstance(scored, Slices)
    scores = np.unique(scored.score(joined([one, other])))
    assert scored.cuts.size >= 5
    for cut in scored.cuts:
        below, above = scores[scores < cut].max(), scores[scores > cut].min()
        assert cut == pytest.approx((below + above) / 2, abs=1e-12)
        assert above - below > 1e-10 * np.abs(scores).max()
