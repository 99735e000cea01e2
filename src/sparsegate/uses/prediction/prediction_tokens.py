"""One token: what it follows, how it is drawn, free or paid, and what is given back for those that were not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sparsegate.budget import Charge
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.selection import select_top
from sparsegate.noise import Source
from sparsegate.noise.uniform import uniform_below
from sparsegate.uses.prediction.prediction_reading import LEVELS, WHOLE, Opinion, Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One token. ``paid``: it was drawn from the private answers, and used up one of the cutoff. ``checked``: the gate
    compared them with the public model; False where it was closed and the public model went on alone.

    >>> import sparsegate as sg
    >>> private = [lambda text: [0, 0, 9]] * 400  # what 400 batches of records say the next token is
    >>> public = lambda text: [0, 3, 0]
    >>> asked = {"vocabulary": 3, "threshold": 0.5, "cutoff": 5, "epsilon": 2, "clip": 5}
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> sg.PrivatePredictor(private, public, **asked, **seeded).predict((0, 1))
    Prediction(token=2, paid=True, checked=True)
    """

    token: int
    """Its number in the vocabulary."""
    paid: bool
    checked: bool

    def __str__(self) -> str:
        return f"token {self.token}, {'paid' if self.paid else 'free'}{'' if self.checked else ', not checked'}"


def read_context(context: Sequence[int], vocabulary: int) -> tuple[int, ...]:
    """The tokens so far: whole numbers below the size of the vocabulary."""
    rule, next_step = f"must be a sequence of tokens from 0 to {vocabulary - 1}", "pass for instance context=[0]"
    try:
        given = tuple(context)
    except TypeError:
        raise ParameterError("context", rule, context, next_step) from None
    for token in given:
        if not _is_token(token, vocabulary):
            raise ParameterError("context", rule, token, next_step)
    return tuple(int(token) for token in given)


def read_end(end: int | None, vocabulary: int) -> int | None:
    """The token after which nothing comes, if there is one."""
    if end is not None and not _is_token(end, vocabulary):
        raise ParameterError("end", f"must be a token from 0 to {vocabulary - 1}", end, "leave it out, or pass end=0")
    return None if end is None else int(end)


def _is_token(token: object, vocabulary: int) -> bool:
    return isinstance(token, int | np.integer) and not isinstance(token, bool) and 0 <= int(token) < vocabulary


def free_token(public: Reading, source: Source) -> int:
    """A token of the public model: each with a probability of its weight over ``WHOLE``, exactly."""
    return int(np.searchsorted(np.cumsum(public.weights), uniform_below(source, WHOLE), side="right"))


def paid_token(opinion: Opinion, *, epsilon: Fraction, alone: bool, source: Source, not_private: bool) -> int:
    """A token by the exponential mechanism on the sums of all scores; ``alone``: they move one way."""
    selected = select_top(
        opinion.scores,
        count=1,
        epsilon=epsilon,
        sensitivity=LEVELS,
        monotonic=alone,
        method="exponential",
        source=source,
        not_private=not_private,
    )
    assert selected.indices is not None
    return int(selected.indices[0])


@dataclass(frozen=True, kw_only=True)
class Metered(Charge):
    """The charge of the whole as the gate's own: what goes back is the gate's rest and that of the tokens at once."""

    paid: Charge
    unused: Callable[[], Fraction]

    def give_back(self, epsilon: Fraction) -> bool:
        return self.paid.give_back(epsilon + self.unused())
