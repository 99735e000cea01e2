"""Whatever interrupts a draw: nothing is given that was not drawn, and nothing is given twice."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.interrupts import interrupt_by_signal, interrupt_everywhere

from sparsegate.noise import (
    Reservoir,
    Secure,
    Seeded,
    Source,
    fill_discrete_gaussian,
    fill_discrete_laplace,
    fill_geometric,
)
from sparsegate.noise.coins import toss, toss_lanes
from sparsegate.noise.expansions import Expansion, decay, rational

TAKES = [0, 1, 64, 200]  # draws taken before: none, within a block, at its end, in the next ones


class Numbered:
    """A reservoir whose draws are 1, 2, 3, ... in the place of noise, each block once it is drawn in full."""

    def __init__(self, law: Callable[..., None], before: int) -> None:
        self._law, self._last = law, 0
        self.reservoir = Reservoir(Seeded(1), Fraction(9), self._fill)
        self.given: list[int] = []
        self.give(one=before % 2 == 1, count=before)

    def _fill(self, source: Source, scale: Fraction, out: NDArray[np.int64]) -> None:
        self._law(source, scale, out)
        out[:] = np.arange(self._last + 1, self._last + 1 + out.size)
        self._last += out.size

    def give(self, *, one: bool, count: int) -> None:
        self.given += [self.reservoir.take() for _ in range(count)] if one else self.reservoir.take_many(count).tolist()

    def check(self) -> None:
        for one, count in ((True, 3), (False, 300), (True, 200), (False, 1)):
            self.give(one=one, count=count)
        assert min(self.given) >= 1
        assert max(self.given) <= self._last, "a number that was never drawn"
        assert len(set(self.given)) == len(self.given), "a draw that came twice"


LAWS = [
    (fill_discrete_laplace, KeyboardInterrupt),
    (fill_geometric, MemoryError),
    (fill_discrete_gaussian, MemoryError),
]


@pytest.mark.parametrize(("law", "error"), LAWS)
@pytest.mark.parametrize("one", [True, False])
def test_an_interrupted_reservoir_gives_no_draw_twice_and_none_undrawn(one, law, error):
    for before in TAKES:
        places = interrupt_everywhere(
            lambda before=before: Numbered(law, before),
            lambda subject: subject.give(one=one, count=1 if one else 150),
            Numbered.check,
            error=error,
            opcodes=True,
        )
        assert places > 10


KEYSTREAM = frozenset(np.frombuffer(Seeded(3)._cipher.update(bytes(1 << 18)), dtype="<u8").tolist())


class Traced:
    """A source of a known keystream, and the words that it gave."""

    def __init__(self, before: int) -> None:
        self.source, self.given = Seeded(3), list[int]()
        for size in (before % 512, *[512] * (before // 512)):
            self.given += self.source.bytes(8 * size).view("<u8").tolist()

    def draw(self) -> None:
        """Words, integers, and bytes from what is kept ready and from the cipher itself, across the end of a block."""
        self.given.append(self.source.word())
        self.given.append(self.source.integer(64))
        for size in (4096, 8192):
            self.given += self.source.bytes(size).view("<u8").tolist()
        self.given += np.frombuffer(self.source.integer(8 * 4800).to_bytes(4800, "little"), dtype="<u8").tolist()
        self.given.append(self.source.word())

    def check(self) -> None:
        self.draw()
        self.draw()
        assert len(set(self.given)) == len(self.given), "a word that came twice"
        assert set(self.given) <= KEYSTREAM, "a word that is not of the keystream"


@pytest.mark.parametrize("before", [0, 1, 2047, 2048])  # a block has 2,048 words
def test_an_interrupted_source_gives_no_byte_twice_and_none_undrawn(before):
    assert interrupt_everywhere(lambda: Traced(before), Traced.draw, Traced.check, opcodes=True) > 200


class Inherited:
    """A source as the child of a fork finds it: born elsewhere, with bytes kept ready that the parent gives, too."""

    def __init__(self) -> None:
        self.source = Secure()
        self.source.word()
        self.parents = frozenset(np.frombuffer(self.source._ready, dtype="<u8").tolist())
        self.source._born -= 1

    def check(self) -> None:
        assert self.parents.isdisjoint([self.source.word(), self.source.integer(64)])
        assert self.parents.isdisjoint(self.source.bytes(800).view("<u8").tolist())


@pytest.mark.parametrize("draw", [Secure.word, lambda source: source.bytes(9), lambda source: source._checked_cipher()])
def test_a_source_that_is_interrupted_while_it_takes_a_new_key_gives_nothing_of_the_old(draw):
    assert interrupt_everywhere(Inherited, lambda child: draw(child.source), Inherited.check, opcodes=True) > 20


@pytest.mark.parametrize("made", [lambda: rational(Fraction(1, 3)), lambda: decay.__wrapped__(Fraction(1, 3))])
def test_the_digits_of_a_coin_are_right_after_any_interrupt(made):
    """They are shared by all draws of a law: a wrong one would stay wrong."""

    def toss_all(coin: Expansion) -> None:
        toss(Seeded(1), coin)
        toss_lanes(Seeded(1), coin, np.empty(100, dtype=np.bool_))
        coin.prefix(600)

    def check(coin: Expansion) -> None:
        assert [coin.digit16(place) for place in range(40)] == digits
        assert coin.prefix(640) == whole

    whole, digits = made().prefix(640), [made().digit(place, 16) for place in range(40)]
    assert interrupt_everywhere(made, toss_all, check, opcodes=True) > 100


def test_signals_make_a_reservoir_give_no_draw_twice_and_none_undrawn():
    came = 0
    for one, before in ((True, 0), (False, 0), (True, 64), (False, 200)):
        came += interrupt_by_signal(
            lambda before=before: Numbered(fill_geometric, before),
            lambda subject, one=one: subject.give(one=one, count=1 if one else 150),
            Numbered.check,
            times=150,
            within=2e-4,
        )
    assert came > 100
