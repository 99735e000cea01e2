"""Arrays with Laplace noise: one theorem for the whole array, and the law that it speaks of."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.goodness import FALSE_ALARM, chi_square_p, discrete_laplace_mass

import sparsegate as sg
from sparsegate.gates.lattice import Lattice

SMALL = st.fractions(0, 1, max_denominator=1000)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.fractions(-9, 9, max_denominator=5000), SMALL), min_size=1, max_size=20), st.booleans())
def test_places_of_an_array_move_by_no_more_than_its_lattice_says(moves, coarse):
    """The sum of all moves is Delta, so that nothing is given away by rounding each of them down."""
    delta = sum((move for _, move in moves), Fraction(0)) or Fraction(1)
    granularity = Fraction(1, 2) if coarse else None
    lattice = Lattice.fit(sensitivity=delta, granularity=granularity, entries=len(moves))
    moved = sum(lattice.private_steps(at + move) - lattice.private_steps(at) for at, move in moves)
    assert moved <= lattice.sensitivity
    if not coarse:
        assert lattice.sensitivity * lattice.granularity <= delta * Fraction(1003, 1000), "it costs next to nothing"


@pytest.mark.parametrize("sensitivity", [3, 3.0])
def test_every_entry_has_the_noise_of_the_whole_sensitivity_and_another_draw(sensitivity):
    counts = np.arange(40_000).reshape(200, 200)
    noisy = sg.laplace(counts, epsilon=1, sensitivity=sensitivity, source=sg.Seeded(11), not_private=True)
    assert noisy.shape == counts.shape
    drawn = np.floor(noisy - counts).astype(np.int64).reshape(-1)
    cells = range(-18, 19)
    if isinstance(sensitivity, float):  # the floor of noise that is all but continuous
        law = {k: lower(k + 1) - lower(k) for k in cells}
        wrong = {k: lower(k + 1, 3.6) - lower(k, 3.6) for k in cells}
    else:
        law, wrong = discrete_laplace_mass(3.0, cells), discrete_laplace_mass(3.6, cells)
    assert chi_square_p(drawn, law) > FALSE_ALARM
    assert chi_square_p(drawn, wrong) < FALSE_ALARM
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 6 / math.sqrt(drawn.size)


def lower(x: float, scale: float = 3.0) -> float:
    return math.exp(x / scale) / 2 if x < 0 else 1 - math.exp(-x / scale) / 2


@pytest.mark.parametrize("kind", [list, tuple, np.array, pandas.Series, polars.Series, pyarrow.array])
def test_what_an_array_is_made_of_makes_no_difference(kind):
    options = {"epsilon": 1, "sensitivity": 2, "not_private": True}
    noisy = sg.laplace(kind([5, 70, 900]), source=sg.Seeded(5), **options)
    assert type(noisy) is np.ndarray
    assert noisy.dtype == np.int64
    assert noisy.tolist() == sg.laplace([5, 70, 900], source=sg.Seeded(5), **options).tolist()


@pytest.mark.parametrize("counts", [[1.5], ["7"], [[1, 2], [3]], [[4]], "44", np.array([True]), [True], {7: 8}, [None]])
def test_a_type_is_refused_by_the_name_of_the_parameter_without_its_value(counts):
    with pytest.raises(sg.ParameterError, match=r"^count must") as caught:
        sg.laplace(counts, epsilon=1, sensitivity=1)
    assert not any(shown in str(caught.value) for shown in ("1.5", "7", "44", "True", "None"))


def test_an_array_is_one_charge_and_is_kept(tmp_path):
    with sg.Ledger.create(tmp_path / "book", dataset="book", budget=1) as ledger:
        noisy = sg.laplace([3, 4], epsilon=0.25, sensitivity=1, ledger=ledger)
        assert ledger.statement().spent.epsilon == Fraction(1, 4)
        assert ledger.release(2).gave == ({"release": "laplace", "values": noisy.tolist()},)
        assert ledger.statement().entries[-1].what == "2 numbers with Laplace noise, sensitivity 1"
