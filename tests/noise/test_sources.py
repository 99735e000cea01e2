"""Sources: repeatable or fresh, tested before first use, safe under threads, never copied nor shared with a child."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from tests.support.processes import fork_behind_pythons_back, in_forked_child
from tests.support.threads import at_once

import sparsegate as sg
from sparsegate.errors import GateClosed, ParameterError, SparsegateError
from sparsegate.gates.bounds import Setting
from sparsegate.gates.calibration import calibrate
from sparsegate.gates.gate import Gate
from sparsegate.noise import (
    Reservoir,
    Secure,
    Seeded,
    discrete_laplace,
    fill_discrete_gaussian,
    fill_discrete_laplace,
    fill_geometric,
    sources,
)
from sparsegate.noise.expansions import decay, interval_arithmetic
from sparsegate.noise.laplace import exact_scale


def test_a_seed_repeats_and_another_seed_does_not():
    assert (Seeded(7).bytes(100_000) == Seeded(7).bytes(100_000)).all()
    assert (Seeded(7).bytes(100_000) != Seeded(8).bytes(100_000)).any()


@pytest.mark.parametrize("source", [Secure(), Seeded(7)])
def test_a_stream_is_a_source_of_its_own(source):
    child = source.stream()
    assert child is not source
    assert (child.bytes(40) != source.bytes(40)).any()
    assert (source.stream().bytes(40) != child.bytes(40)).any()


def test_a_seeded_source_says_not_private_and_a_secure_one_shows_nothing():
    assert repr(Seeded(7)) == "Seeded(7: NOT PRIVATE)"
    assert repr(Secure()) == "Secure()"
    assert not Seeded(7).private
    assert Secure().private


@pytest.mark.parametrize("seed", [1.5, "7", None, True])
def test_a_seed_must_be_a_whole_number(seed):
    with pytest.raises(ParameterError, match="^seed must be a whole number"):
        Seeded(seed)


@pytest.mark.parametrize("source", [Secure(), Seeded(7)])
@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_source_is_never_copied(source, clone):
    with pytest.raises(SparsegateError, match="neither copied nor pickled"):
        clone(source)


def test_threads_never_get_the_same_words():
    source = Secure()
    drawn = at_once(lambda _: [source.word() for _ in range(5_000)], range(8))
    everything = [word for mine in drawn for word in mine]
    assert len(set(everything)) == len(everything) == 40_000


@pytest.mark.parametrize("fill", [fill_discrete_laplace, fill_geometric, fill_discrete_gaussian])
def test_a_reservoir_gives_one_sequence_of_its_law_however_it_is_taken(fill):
    one, many = (Reservoir(Seeded(5), exact_scale(9), fill) for _ in range(2))
    singly = [one.take() for _ in range(60_000)]
    sizes = [1, 63, 64, 65, 300, 0, 5000, 14_507, 39_000]
    mixed = np.concatenate([[*many.take_many(size), *(many.take() for _ in range(size % 7))] for size in sizes])
    assert singly[: mixed.size] == mixed.tolist()
    assert len(set(map(tuple, np.reshape(singly, (-1, 50))))) == 1200, "no stretch comes twice"
    assert (min(singly) < 0) == (fill is not fill_geometric)


def test_a_secure_key_has_all_the_bytes_it_should_from_the_operating_system(monkeypatch):
    Secure()  # the self-test is done
    pieces: list[bytes] = []

    def urandom(size: int) -> bytes:
        pieces.append(bytes(range(size)))
        return pieces[-1]

    monkeypatch.setattr(os, "urandom", urandom)
    assert Secure()._key_and_nonce() == (bytes(range(32)), bytes(range(16)))
    assert [len(piece) for piece in pieces] == [32, 16, 32, 16]


@pytest.mark.parametrize("short", [(16, 16), (24, 16), (31, 16), (32, 8)])
def test_a_key_of_another_size_is_refused(short):
    class Short(Secure):
        def _key_and_nonce(self) -> tuple[bytes, bytes]:
            return bytes(short[0]), bytes(short[1])

    with pytest.raises(SparsegateError, match="32 key and 16 counter bytes"):
        Short()


@pytest.mark.parametrize(
    "system",
    [
        lambda size: bytes(size),
        lambda size: bytes(range(size)),
        lambda size: os.urandom(4) * (size // 4),
        lambda size: os.urandom(size - 1),
        lambda size: os.urandom(size + 1),
    ],
    ids=["zeros", "repeats", "four bytes", "short", "long"],
)
def test_a_system_without_randomness_fails_the_self_test(system, monkeypatch):
    monkeypatch.setattr(sources, "os", SimpleNamespace(urandom=system))
    with pytest.raises(SparsegateError, match="failed its self-test"):
        sources.self_test.__wrapped__()


def test_the_first_secure_source_tests_itself(monkeypatch):
    tested: list[bool] = []
    monkeypatch.setattr(sources, "self_test", lambda: tested.append(True))
    Secure()
    assert tested


def test_a_cipher_that_is_another_one_fails_the_self_test(monkeypatch):
    monkeypatch.setattr(sources, "_TEST_KEY", sources._TEST_KEY[:-1] + "5")
    with pytest.raises(SparsegateError, match="failed its self-test"):
        sources.self_test.__wrapped__()


FORKS = pytest.mark.parametrize("fork", [os.fork, fork_behind_pythons_back], ids=["python", "libc"])


def draws(source: sg.Secure) -> list[object]:
    return [source.word(), source.integer(100), source.bytes(50).tolist(), source.bytes(9000).tolist()]


@FORKS
def test_a_secure_source_has_a_new_key_after_fork(fork):
    source = Secure()
    source.word()
    child, parent = in_forked_child(lambda: draws(source), fork), draws(source)
    assert all(theirs != ours for theirs, ours in zip(child, parent, strict=True))


@FORKS
def test_each_way_to_draw_notices_the_fork_by_itself(fork):
    ways: list[Callable[[Secure], object]] = [
        lambda source: source.word(),
        lambda source: source.integer(64),
        lambda source: source.bytes(40).tolist(),
        lambda source: source.bytes(9000).tolist(),
        lambda source: source.integer(99_999),
    ]
    for way in ways:
        source = Secure()
        source.word()
        assert in_forked_child(lambda way=way, source=source: way(source), fork) != way(source)


@FORKS
def test_a_lock_held_at_the_fork_does_not_stop_the_child(fork):
    source, seeded, twin = Secure(), Seeded(5), Seeded(5)
    with source._lock:
        assert isinstance(in_forked_child(source.word, fork), int)
    with seeded._lock:  # it goes on where the parent was
        assert in_forked_child(lambda: (seeded.word(), seeded.stream().word()), fork) == (
            twin.word(),
            twin.stream().word(),
        )


def test_where_no_page_is_wiped_the_process_id_is_noticed_at_the_next_refill(monkeypatch):
    source = Secure()
    source.word()

    def child() -> object:
        sources.MARK[0] = mark  # as on a system that cannot wipe a page
        rest = len(source._ready) // 8 - 1
        ahead = [source.word() for _ in range(rest)]
        return ahead, source.word()

    mark = sources.MARK[0]
    (shared, fresh), parent = in_forked_child(child, fork_behind_pythons_back), [source.word() for _ in range(2048)]
    assert shared == parent[: len(shared)]
    assert fresh != parent[len(shared)]


@FORKS
def test_noise_drawn_ahead_dies_at_the_fork(fork):
    reservoir = Reservoir(Secure(), exact_scale(5))
    reservoir.take()
    for take in (reservoir.take, lambda: reservoir.take_many(3).tolist()):
        assert isinstance(in_forked_child(take, fork), GateClosed)


@FORKS
def test_a_gate_does_not_answer_in_a_child_even_if_it_was_locked_and_a_new_one_does(fork):
    public = {"threshold": 0, "cutoff": 5, "epsilon": 1, "sensitivity": 1}
    gate = sg.SparseVector(**public)
    gate.ask(-9)
    with gate._lock:
        for ask in (lambda: gate.ask(-9), lambda: gate.ask_many([1, 2])):
            assert "another process" in str(in_forked_child(ask, fork))
    assert in_forked_child(lambda: len(sg.SparseVector(**public).ask_many([-99, 99])), fork) == 2
    assert not gate.closed


@FORKS
def test_a_gate_that_draws_nothing_for_a_question_does_not_answer_in_a_child_either(fork):
    setting = Setting(row=sg.VARIANTS["stoddard-2014"], cutoff=5, epsilon=1)
    row = calibrate(setting, threshold=0, not_private=True)
    gate = Gate(row, threshold=0, source=None, not_private=True)
    gate.ask(-9)
    assert isinstance(in_forked_child(lambda: gate.ask(-9), fork), GateClosed)


def test_a_grandchild_is_told_from_a_child():
    def child() -> tuple[object, object]:
        mine = Secure()
        mine.word()
        return in_forked_child(mine.word), mine.word()

    grandchild, own = in_forked_child(child)
    assert grandchild != own


def test_a_fork_does_not_hang_the_child_while_a_thread_computes_an_expansion():
    done = threading.Event()

    def compute() -> None:
        number = 0
        while not done.is_set():
            number += 1
            decay(Fraction(number, 1_000_003)).prefix(20_000)

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        for number in range(8):
            work = lambda number=number: decay(Fraction(7, 9_000_011 + number)).prefix(64)  # noqa: E731
            assert in_forked_child(work, seconds=10) == work()
    finally:
        done.set()
        thread.join()


def test_a_fork_inside_interval_arithmetic_does_not_wait_for_itself():
    with interval_arithmetic(64):
        assert isinstance(in_forked_child(lambda: discrete_laplace(Secure(), 3), seconds=10), int)
