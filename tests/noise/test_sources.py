"""Sources: repeatable or fresh, safe under threads, new keys after fork, never copied."""

from __future__ import annotations

import copy
import os
import pickle
import threading

import numpy as np
import pytest
from tests.support.goodness import FALSE_ALARM, chi_square_p
from tests.support.processes import in_forked_child

from sparsegate.errors import GateClosed, ParameterError, SparsegateError
from sparsegate.noise import Reservoir, Secure, Seeded, Source, discrete_laplace
from sparsegate.noise.geometric import exact_scale


def test_a_seed_repeats_and_another_seed_does_not() -> None:
    assert (Seeded(7).bytes(100_000) == Seeded(7).bytes(100_000)).all()
    assert (Seeded(7).bytes(100_000) != Seeded(8).bytes(100_000)).any()


def test_children_of_a_seed_are_repeatable_and_differ_from_one_another() -> None:
    parent, again = Seeded(7), Seeded(7)
    first, second = parent.stream(), parent.stream()
    words = [source.word() for source in (first, second, parent)]
    assert len(set(words)) == 3
    assert words[:2] == [again.stream().word(), again.stream().word()]


def test_a_seeded_source_says_not_private_and_a_secure_one_shows_nothing() -> None:
    assert repr(Seeded(7)) == "Seeded(7: NOT PRIVATE)"
    assert repr(Secure()) == "Secure()"
    assert not Seeded(7).private
    assert Secure().private


@pytest.mark.parametrize("seed", [1.5, "7", None, True])
def test_a_seed_must_be_a_whole_number(seed: object) -> None:
    with pytest.raises(ParameterError, match="^seed must be a whole number"):
        Seeded(seed)  # type: ignore[arg-type]


def test_bytes_are_uniform_however_they_are_asked_for() -> None:
    """Chi-square over 256 values for large requests, small requests and words; rate 1e-6."""
    flat = dict.fromkeys(range(256), 1 / 256)
    source = Secure()
    small = np.concatenate([source.bytes(7) for _ in range(10_000)])
    words = np.array([source.word() & 255 for _ in range(50_000)])
    for sample in (source.bytes(3_000_000), small, words):
        assert chi_square_p(sample.astype(np.int64), flat) > FALSE_ALARM


def test_integers_have_the_bits_asked_for() -> None:
    source = Seeded(3)
    for bits in (1, 7, 8, 63, 64, 65, 200_000):
        largest = max(source.integer(bits) for _ in range(40))
        assert largest.bit_length() <= bits
        assert largest.bit_length() > bits - 4


@pytest.mark.parametrize("source", [Secure(), Seeded(7)])
@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_source_is_never_copied(source: Source, clone: object) -> None:
    with pytest.raises(SparsegateError, match="neither copied nor pickled"):
        clone(source)  # type: ignore[operator]


def test_threads_never_get_the_same_words() -> None:
    source = Secure()
    drawn: list[list[int]] = [[] for _ in range(8)]

    def draw(mine: list[int]) -> None:
        mine.extend(source.word() for _ in range(5_000))

    threads = [threading.Thread(target=draw, args=(mine,)) for mine in drawn]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = [word for mine in drawn for word in mine]
    assert len(set(everything)) == len(everything) == 40_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_secure_source_has_a_new_key_after_fork() -> None:
    source = Secure()
    source.word()
    child = in_forked_child(lambda: [source.word() for _ in range(4)])
    assert child != [source.word() for _ in range(4)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_lock_held_at_the_fork_does_not_stop_the_child() -> None:
    source = Secure()
    with source._lock:
        assert isinstance(in_forked_child(source.word), int)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_noise_drawn_ahead_dies_at_the_fork() -> None:
    reservoir = Reservoir(Secure(), exact_scale(5))
    reservoir.take()

    def take() -> str:
        try:
            return str(reservoir.take())
        except GateClosed:
            return "closed"

    def take_many() -> str:
        try:
            return str(reservoir.take_many(3))
        except GateClosed:
            return "closed"

    assert in_forked_child(take) == "closed"
    assert in_forked_child(take_many) == "closed"


def test_a_reservoir_gives_one_sequence_however_it_is_taken() -> None:
    one, many = (Reservoir(Seeded(5), exact_scale(9)) for _ in range(2))
    singly = [one.take() for _ in range(20_000)]
    sizes = [1, 63, 64, 65, 300, 5000, 14_507]
    assert singly == np.concatenate([many.take_many(size) for size in sizes]).tolist()


def test_seeded_draws_do_not_hang_on_an_earlier_fork_of_the_process() -> None:
    assert discrete_laplace(Seeded(9), 4, 5).tolist() == discrete_laplace(Seeded(9), 4, 5).tolist()
