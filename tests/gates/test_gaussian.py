"""Numbers with Gaussian noise: the theorem on neighbours, what a ledger is charged, and the law of every entry."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.accounts import Noted
from tests.support.goodness import discrete_gaussian_mass, excess

import sparsegate as sg
from sparsegate.gates.lattice import Lattice

SEEDED: dict[str, Any] = {"source": sg.Seeded(5), "not_private": True}


def laws(sigma: float, moves: tuple[int, ...]) -> tuple[dict[Any, float], dict[Any, float]]:
    """The laws of the noisy numbers of two neighbours, the first at zero."""
    far = math.ceil(9 * sigma) + 8 * max(map(abs, moves))  # an order of 8 moves the centre by 7 moves
    reach = range(-far, far + 1)
    mass = discrete_gaussian_mass(sigma, range(2 * reach.start, 2 * reach.stop))
    cells = list(itertools.product(reach, repeat=len(moves)))
    one = {cell: math.prod(mass[k] for k in cell) for cell in cells}
    other = {cell: math.prod(mass[k - move] for k, move in zip(cell, moves, strict=True)) for cell in cells}
    return one, other


@pytest.mark.parametrize(("sigma", "moves"), [(2.0, (1,)), (0.6, (1,)), (3.0, (4,)), (1.5, (1, -1)), (2.0, (2, 1))])
def test_neighbours_are_no_further_apart_than_the_theorem_says(sigma, moves):
    """Exactly, at each order; a fifth of rho less would be too little."""
    one, other = laws(sigma, moves)
    rho = sum(move**2 for move in moves) / (2 * sigma**2)
    largest = 0.0
    for alpha in (1.01, 1.5, 2, 2.3, 5, 8):
        pairs = ((math.log(p), math.log(other[cell])) for cell, p in one.items() if p and other[cell])
        divergence = math.log(math.fsum(math.exp(alpha * p + (1 - alpha) * q) for p, q in pairs)) / (alpha - 1)
        assert divergence <= alpha * rho * (1 + 1e-9)
        largest = max(largest, divergence / alpha)
    assert largest > 0.8 * rho


@pytest.mark.parametrize(("sigma", "moves"), [(2.0, (1,)), (3.0, (4,)), (2.0, (2, 1))])
@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_neighbours_are_within_what_a_ledger_is_charged(sigma, moves, delta):
    """Both ways, exactly; with two thirds of sigma they are not."""
    account = Noted()
    options = {"sigma": sigma, "sensitivity": 1, "max_items_per_user": sum(move**2 for move in moves)}
    sg.gaussian([0] * len(moves), delta=delta, ledger=account, **options, **SEEDED)
    ((epsilon, charged, _),) = account.charged
    assert charged == Fraction(str(delta))
    one, other = laws(sigma, moves)
    assert max(excess(one, other, epsilon), excess(other, one, epsilon)) <= delta
    one, other = laws(sigma / 1.5, moves)
    assert max(excess(one, other, epsilon), excess(other, one, epsilon)) > delta


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.fractions(-9, 9, max_denominator=5000), st.fractions(-1, 1)), min_size=1, max_size=20),
    st.booleans(),
)
def test_places_of_an_array_move_by_no_more_than_its_noise_is_made_for(moves, coarse):
    """In Euclidean norm, squared; where no granularity is asked for, rounding costs next to nothing."""
    moved = sum((move**2 for _, move in moves), Fraction(0)) or Fraction(1)
    sensitivity = Fraction(math.isqrt(math.ceil(moved * 10**12)) + 1, 10**6)  # the norm, rounded up
    squares = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sparsegate.gates.gaussian.exact_square", lambda square: squares.append(square) or square)
        options: dict[str, Any] = {"granularity": Fraction(1, 2) if coarse else None, "sensitivity": sensitivity}
        sg.gaussian([at for at, _ in moves], rho=0.5, **options, **SEEDED)  # sigma is Delta
    root = 1 if len(moves) == 1 else math.isqrt(len(moves) - 1) + 2
    lattice = Lattice.fit(sensitivity=sensitivity, granularity=options["granularity"], entries=root)
    places = [lattice.private_steps(at + move) - lattice.private_steps(at) for at, move in moves]
    assert sum(place**2 for place in places) <= squares[0]
    if not coarse:
        assert squares[0] * lattice.granularity**2 <= sensitivity**2 * Fraction(1005, 1000)


def test_rho_and_sigma_say_the_same():
    options: dict[str, Any] = {"sensitivity": 3, "max_items_per_user": 8, "not_private": True}
    one = sg.gaussian([5, 70, 900], rho=Fraction(1, 4), source=sg.Seeded(5), **options)
    other = sg.gaussian([5, 70, 900], sigma=12, source=sg.Seeded(5), **options)  # 8 * 9 / (2 * 144)
    assert one.tolist() == other.tolist()
