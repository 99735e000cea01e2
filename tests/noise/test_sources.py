"""Sources: repeatable or fresh, tested before first use, safe under threads, never copied."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from tests.support.goodness import FALSE_ALARM, chi_square_p
from tests.support.threads import at_once

from sparsegate.errors import ParameterError, SparsegateError
from sparsegate.noise import (
    Fill,
    Reservoir,
    Secure,
    Seeded,
    Source,
    fill_discrete_laplace,
    fill_geometric,
    sources,
)
from sparsegate.noise.laplace import exact_scale


def test_a_seed_repeats_and_another_seed_does_not() -> None:
    assert (Seeded(7).bytes(100_000) == Seeded(7).bytes(100_000)).all()
    assert (Seeded(7).bytes(100_000) != Seeded(8).bytes(100_000)).any()


@pytest.mark.parametrize("source", [Secure(), Seeded(7)])
def test_a_stream_is_a_source_of_its_own(source: Source) -> None:
    child = source.stream()
    assert child is not source
    assert (child.bytes(40) != source.bytes(40)).any()
    assert (source.stream().bytes(40) != child.bytes(40)).any()


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


@pytest.mark.parametrize("source", [Secure(), Seeded(7)])
@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_source_is_never_copied(source: Source, clone: object) -> None:
    with pytest.raises(SparsegateError, match="neither copied nor pickled"):
        clone(source)  # type: ignore[operator]


def test_threads_never_get_the_same_words() -> None:
    source = Secure()
    drawn = at_once(lambda _: [source.word() for _ in range(5_000)], range(8))
    everything = [word for mine in drawn for word in mine]
    assert len(set(everything)) == len(everything) == 40_000


@pytest.mark.parametrize("fill", [fill_discrete_laplace, fill_geometric])
def test_a_reservoir_gives_one_sequence_of_its_law_however_it_is_taken(fill: Fill) -> None:
    one, many = (Reservoir(Seeded(5), exact_scale(9), fill) for _ in range(2))
    singly = [one.take() for _ in range(60_000)]
    sizes = [1, 63, 64, 65, 300, 0, 5000, 14_507, 39_000]
    mixed = np.concatenate([[*many.take_many(size), *(many.take() for _ in range(size % 7))] for size in sizes])
    assert singly[: mixed.size] == mixed.tolist()
    assert len(set(map(tuple, np.reshape(singly, (-1, 50))))) == 1200, "no stretch comes twice"
    assert (min(singly) < 0) == (fill is fill_discrete_laplace)


def test_a_secure_key_has_all_the_bytes_it_should_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    Secure()  # the self-test is done
    pieces: list[bytes] = []

    def urandom(size: int) -> bytes:
        pieces.append(bytes(range(size)))
        return pieces[-1]

    monkeypatch.setattr(os, "urandom", urandom)
    assert Secure()._key_and_nonce() == (bytes(range(32)), bytes(range(16)))
    assert [len(piece) for piece in pieces] == [32, 16, 32, 16]


@pytest.mark.parametrize("short", [(16, 16), (24, 16), (31, 16), (32, 8)])
def test_a_key_of_another_size_is_refused(short: tuple[int, int]) -> None:
    class Short(Secure):
        def _key_and_nonce(self) -> tuple[bytes, bytes]:
            return bytes(short[0]), bytes(short[1])

    with pytest.raises(SparsegateError, match="32 key and 16 counter bytes"):
        Short()


def test_the_keystream_is_aes_256_in_counter_mode() -> None:
    """The four output blocks of NIST SP 800-38A, F.5.5."""
    stream = sources._keystream(bytes.fromhex(sources._TEST_KEY), bytes.fromhex(sources._TEST_COUNTER))
    blocks = sources._TEST_BLOCKS + "1bc12c9c01610d5d0d8bd6a3378eca622956e1c8693536b1bee99c73a31576b6"
    assert stream.update(bytes(64)).hex() == blocks


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
def test_a_system_without_randomness_fails_the_self_test(
    system: Callable[[int], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "os", SimpleNamespace(urandom=system))
    with pytest.raises(SparsegateError, match="failed its self-test"):
        sources.self_test.__wrapped__()


def test_the_first_secure_source_tests_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    tested: list[bool] = []
    monkeypatch.setattr(sources, "self_test", lambda: tested.append(True))
    Secure()
    assert tested


def test_a_cipher_that_is_another_one_fails_the_self_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_TEST_KEY", sources._TEST_KEY[:-1] + "5")
    with pytest.raises(SparsegateError, match="failed its self-test"):
        sources.self_test.__wrapped__()
