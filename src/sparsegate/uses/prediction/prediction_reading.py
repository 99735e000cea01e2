"""What a callable says about the next token, read as whole numbers; any answer at all has a reading.

A callable answers with one number for each token. It is read twice:

- *weights*: its distribution, in parts of ``WHOLE``. They are at least 0 and add up to ``WHOLE``, exactly.
- *scores*: its logits z, moved so that the largest is the clip B, and cut at 0, in steps: floor(LEVELS (B + z - max
  z)/B), from 0 to ``LEVELS``. (A logit is the logarithm of a probability but for one number that is added to all;
  moving them so takes that number out.)

Rounding errors of floats, whatever they are, are those of one callable and change neither of these two facts.

**No private answer is refused**, because an error would tell what a batch holds. What is no answer is an *abstention*:
None; an exception; another length; not numbers; a NaN; a logit of +infinity, or all of them -infinity; a probability
that is negative or infinite, or all of them 0. Whoever abstains has the weights of the public model, and scores of 0.

*Theorem.* Let s callables be read, one of them read otherwise, and the public one as before. Then the distance below
moves by at most 1, and each sum of scores by at most ``LEVELS``; by 0 to ``LEVELS``, all one way, where that one
abstained. *Proof.* Let W be the whole, w_i the weights and p those of the public model. The distance is half of
sum_t |sum_i (w_i(t) - p(t))| / W. One w_i changes to w'_i: by the triangle inequality the sum moves by at most
sum_t |w_i(t) - w'_i(t)| / W <= 2. Scores lie between 0 and LEVELS, and an abstention has 0 everywhere. []

Divided by s, the distance is the total variation between the mean of the private distributions and the public one.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import exact_count
from sparsegate.errors import ParameterError

Integers = NDArray[np.int64]
Model = Callable[[tuple[int, ...]], Any]
"""Takes the tokens so far and gives a number for each token that may come next."""

Gives = Literal["logits", "probabilities"]

WHOLE: Final = 2**40
"""The parts of a distribution."""

LEVELS: Final = 2**16
"""The steps from a clipped logit of 0 to the clip."""

MOST_BATCHES: Final = 2**20
"""The weights of this many callables fit 64 bits."""

MOST_TOKENS: Final = 2**22


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One answer: its weights and its scores."""

    weights: Integers
    scores: Integers


@dataclass(frozen=True, kw_only=True)
class Opinion:
    """All private answers together: how far they are from the public one, in batches, and the sums of their scores."""

    distance: Fraction
    scores: Integers


@dataclass(frozen=True, kw_only=True)
class Reader:
    """How answers are read: three public things."""

    vocabulary: int
    clip: float
    gives: Gives

    def read(self, answer: Any) -> Reading | None:
        """The reading of one answer, or None where it is an abstention; it raises nothing.

        >>> reader = Reader(vocabulary=2, clip=4.0, gives="logits")
        >>> reader.read([1.0, -1.0]).scores.tolist(), reader.read([1.0]), reader.read("hello")
        ([65536, 32768], None, None)
        """
        with np.errstate(all="ignore"):
            try:
                logits = self._logits(answer)
            except KeyboardInterrupt:
                raise
            except BaseException:
                return None
            return None if logits is None else self._reading(logits)

    def _logits(self, answer: Any) -> NDArray[np.float64] | None:
        """The logits, moved so that the largest is 0."""
        given = np.asarray(answer)
        if given.shape != (self.vocabulary,) or given.dtype.kind not in "iuf":
            return None
        logits = given.astype(np.float64)
        if self.gives == "probabilities":
            logits = np.log(logits)  # that of 0 is -infinity, and that of less is NaN
        top = float(logits.max())
        return logits - top if math.isfinite(top) else None  # one NaN makes the largest a NaN

    def _reading(self, logits: NDArray[np.float64]) -> Reading:
        shares = np.exp(logits)
        weights = (shares * (WHOLE / float(shares.sum()))).astype(np.int64)  # rounded down, as all are at least 0
        weights[int(weights.argmax())] += WHOLE - int(weights.sum())
        scores = np.maximum(logits * (LEVELS / self.clip) + LEVELS, 0).astype(np.int64)
        return Reading(weights=weights, scores=scores)

    def gathered(self, answers: Iterable[Any], public: Reading) -> Opinion:
        """What all of them say together."""
        apart = np.zeros(self.vocabulary, dtype=np.int64)
        scores = np.zeros(self.vocabulary, dtype=np.int64)
        for answer in answers:
            reading = self.read(answer)
            if reading is not None:
                apart += reading.weights - public.weights
                scores += reading.scores
        return Opinion(distance=Fraction(int(np.abs(apart).sum()), 2 * WHOLE), scores=scores)


def checked_models(private: Any) -> tuple[Model | None, ...]:
    """The private callables, one for each batch; None stands for one in which nobody is."""
    given = tuple(private) if isinstance(private, list | tuple) else ()
    if not given or not all(model is None or callable(model) for model in given):
        rule = "must be a list of callables, one for each batch, or None where nobody is in it"
        raise ParameterError("private", rule, next_step="pass [model_of_batch_1, model_of_batch_2, ...]")
    return given


def answer_of(model: Model | None, text: tuple[int, ...]) -> Any:
    """What a private callable answers; None where it fails, by whatever error of its own.

    Not every error is an ``Exception``: a tokenizer written in Rust panics with one that is not, for what a text holds.
    """
    if model is None:
        return None
    try:
        return model(text)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def batches_of(people: Iterable[str | int], count: int) -> list[list[int]]:
    """The numbers of the rows of each batch: a person is in one, by a hash, and nobody else moves when one comes."""
    found: list[list[int]] = [[] for _ in range(exact_count(count, "count"))]
    for place, person in enumerate(people):
        if isinstance(person, bool | np.bool_) or not isinstance(person, str | int | np.integer):
            raise ParameterError("people", "must be strings or whole numbers", next_step="convert all of them")
        digest = hashlib.sha256(str(person).encode("utf-8", "surrogatepass")).digest()
        found[int.from_bytes(digest) % len(found)].append(place)
    return found
