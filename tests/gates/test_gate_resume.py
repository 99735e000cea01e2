"""A resumed gate is the same gate: its threshold noise, its count of positives, and fresh noise for each question."""

from __future__ import annotations

import pytest

from sparsegate.errors import GateClosed, ParameterError, SparsegateError
from sparsegate.gates.gate import resume, threshold_noise
from sparsegate.gates.sparse_vector import SparseVector
from sparsegate.noise import Seeded

PUBLIC = {"threshold": 100, "cutoff": 3, "epsilon": 1, "sensitivity": 1, "monotonic": True}


def test_a_resumed_gate_has_the_threshold_noise_of_the_first() -> None:
    gates = [SparseVector(**PUBLIC) for _ in range(20)]
    resumed = [resume(SparseVector, threshold_noise(gate), asked=0, positives=0, **PUBLIC) for gate in gates]
    assert [gate._rho for gate in resumed] == [gate._rho for gate in gates]
    assert len({gate._rho for gate in gates}) > 1


def test_its_answers_turn_exactly_where_the_threshold_noise_says() -> None:
    # Without query noise (an epsilon this large makes it 0 but for a chance of 1e-40) rho alone decides.
    public = PUBLIC | {"cutoff": 50, "epsilon": 10_000, "allocation": 1e6}
    for rho in (-3, 0, 7):
        secret = rho.to_bytes(9, "big", signed=True) + b"L"
        gate = resume(SparseVector, secret, asked=0, positives=0, **public)
        assert [gate.ask(100 + rho + step).above for step in (-2, -1, 0, 1)] == [False, False, True, True]


def test_positives_that_were_given_count() -> None:
    gate = resume(SparseVector, threshold_noise(SparseVector(**PUBLIC)), asked=9, positives=2, **PUBLIC)
    assert (gate.positives, gate.remaining, gate.closed) == (2, 1, False)
    assert gate.ask(10**6)
    with pytest.raises(GateClosed):
        gate.ask(0)


def test_a_gate_that_was_through_stays_closed() -> None:
    planned = PUBLIC | {"queries": 5}
    for public, asked, positives in ((PUBLIC, 3, 3), (planned, 5, 0), (planned, 6, 0), (planned, 99, 1)):
        gate = resume(SparseVector, threshold_noise(SparseVector(**public)), asked=asked, positives=positives, **public)
        assert gate.closed
        with pytest.raises(GateClosed):
            gate.ask(0)


@pytest.mark.parametrize(("asked", "positives"), [(3, 4), (9, 4), (1, -1)])
def test_counts_that_cannot_be_are_refused(asked: int, positives: int) -> None:
    with pytest.raises(ParameterError, match="positives"):
        resume(SparseVector, bytes(9) + b"L", asked=asked, positives=positives, **PUBLIC)


def test_all_secrets_have_one_length() -> None:
    scales = [PUBLIC | {"epsilon": epsilon} for epsilon in (100, 1, 1e-6)]
    lengths = {
        len(threshold_noise(SparseVector(**public, source=Seeded(seed), not_private=True)))
        for public in scales
        for seed in range(20)
    }
    assert lengths == {10}


@pytest.mark.parametrize("noise", ["laplace", "exponential"])
def test_a_gate_goes_on_with_noise_of_its_own_law(noise: str) -> None:
    secret = threshold_noise(SparseVector(**PUBLIC, noise=noise))
    assert resume(SparseVector, secret, asked=0, positives=0, **PUBLIC)._calibration.row.noise.name.lower() == noise


def test_questions_after_the_restart_have_noise_of_their_own() -> None:
    public = PUBLIC | {"cutoff": 2000}
    secret = threshold_noise(SparseVector(**public))
    answers = [
        [resume(SparseVector, secret, asked=0, positives=0, **public).ask(100).above for _ in range(40)]
        for _ in range(2)
    ]
    assert answers[0] != answers[1]


@pytest.mark.parametrize("wrong", [b"", b"\0" * 8, b"\0" * 9, b"\0" * 9 + b"X", b"\0" * 9 + b"EE", b"\xff" * 9 + b"E"])
def test_what_is_no_noise_of_a_gate_makes_none(wrong: bytes) -> None:
    """Too short, it would be a rho of nothing; and exponential noise is never negative."""
    with pytest.raises(SparsegateError, match="^this is no threshold noise of a gate"):
        resume(SparseVector, wrong, asked=0, positives=0, **PUBLIC)
