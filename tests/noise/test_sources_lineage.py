"""After a fork, however it was made, parent and child never share a word of noise, and neither waits for the other."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from fractions import Fraction

import pytest
from tests.support.processes import fork_behind_pythons_back, in_forked_child

import sparsegate as sg
from sparsegate.errors import GateClosed
from sparsegate.gates.bounds import Setting
from sparsegate.gates.calibration import calibrate
from sparsegate.gates.gate import Gate
from sparsegate.noise import Reservoir, Secure, Seeded, discrete_laplace
from sparsegate.noise import sources as lineage
from sparsegate.noise.expansions import decay, interval_arithmetic
from sparsegate.noise.laplace import exact_scale

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
FORKS = pytest.mark.parametrize("fork", [os.fork, fork_behind_pythons_back], ids=["python", "libc"])
Fork = Callable[[], int]


def draws(source: sg.Secure) -> list[object]:
    return [source.word(), source.integer(100), source.bytes(50).tolist(), source.bytes(9000).tolist()]


@FORKS
def test_a_secure_source_has_a_new_key_after_fork(fork: Fork) -> None:
    source = Secure()
    source.word()
    child, parent = in_forked_child(lambda: draws(source), fork), draws(source)
    assert all(theirs != ours for theirs, ours in zip(child, parent, strict=True))


@FORKS
def test_each_way_to_draw_notices_the_fork_by_itself(fork: Fork) -> None:
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


def test_a_seeded_source_goes_on_where_the_parent_was() -> None:
    source, twin = Seeded(5), Seeded(5)
    source.word(), twin.word()
    with source._lock:
        assert in_forked_child(lambda: (source.word(), source.stream().word())) == (twin.word(), twin.stream().word())


@FORKS
def test_a_lock_held_at_the_fork_does_not_stop_the_child(fork: Fork) -> None:
    source = Secure()
    with source._lock:
        assert isinstance(in_forked_child(source.word, fork), int)


def test_where_no_page_is_wiped_the_process_id_is_noticed_at_the_next_refill(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Secure()
    source.word()

    def child() -> object:
        lineage.MARK[0] = mark  # as on a system that cannot wipe a page
        rest = len(source._ready) // 8 - 1
        ahead = [source.word() for _ in range(rest)]
        return ahead, source.word()

    mark = lineage.MARK[0]
    (shared, fresh), parent = in_forked_child(child, fork_behind_pythons_back), [source.word() for _ in range(2048)]
    assert shared == parent[: len(shared)]
    assert fresh != parent[len(shared)]


@FORKS
def test_noise_drawn_ahead_dies_at_the_fork(fork: Fork) -> None:
    reservoir = Reservoir(Secure(), exact_scale(5))
    reservoir.take()
    for take in (reservoir.take, lambda: reservoir.take_many(3).tolist()):
        assert isinstance(in_forked_child(take, fork), GateClosed)


@FORKS
def test_a_gate_does_not_answer_in_a_child_and_a_new_one_does(fork: Fork) -> None:
    public = {"threshold": 0, "cutoff": 5, "epsilon": 1, "sensitivity": 1}
    gate = sg.SparseVector(**public)
    gate.ask(-9)
    for ask in (lambda: gate.ask(-9), lambda: gate.ask_many([1, 2])):
        assert isinstance(in_forked_child(ask, fork), GateClosed)
    assert in_forked_child(lambda: len(sg.SparseVector(**public).ask_many([-99, 99])), fork) == 2
    assert not gate.closed


@FORKS
def test_a_gate_that_draws_nothing_for_a_question_does_not_answer_in_a_child_either(fork: Fork) -> None:
    setting = Setting(row=sg.VARIANTS["stoddard-2014"], cutoff=5, epsilon=1)
    row = calibrate(setting, threshold=0, not_private=True)
    gate = Gate(row, threshold=0, source=None, not_private=True)
    gate.ask(-9)
    assert isinstance(in_forked_child(lambda: gate.ask(-9), fork), GateClosed)


def test_a_grandchild_is_told_from_a_child() -> None:
    def child() -> tuple[object, object]:
        mine = Secure()
        mine.word()
        return in_forked_child(mine.word), mine.word()

    grandchild, own = in_forked_child(child)
    assert grandchild != own


def test_a_fork_does_not_hang_the_child_while_a_thread_computes_an_expansion() -> None:
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


def test_a_fork_inside_interval_arithmetic_does_not_wait_for_itself() -> None:
    with interval_arithmetic(64):
        assert isinstance(in_forked_child(lambda: discrete_laplace(Secure(), 3), seconds=10), int)
