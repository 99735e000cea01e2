"""For test suites: `assert_private` fails a test when a mechanism is proven to leak more than it claims.

from sparsegate.testing import assert_private

def test_my_gate_is_private():
    assert_private(my_gate, epsilon=1.0, queries=5, monotonic=True)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sparsegate.auditor import Verdict, audit

__all__ = ["CONFIDENCE", "assert_private"]

_SECONDS: Final = 10.0
CONFIDENCE: Final = 1 - 1e-6
"""A test that fails by chance teaches people to ignore it: a sound mechanism fails once in a million runs at most.

>>> from sparsegate.testing import CONFIDENCE
>>> round(1 / (1 - CONFIDENCE))
1000000
"""


def assert_private(
    mechanism: Callable[..., Any],
    *,
    epsilon: float,
    delta: float = 0.0,
    confidence: float = CONFIDENCE,
    samples: int | None = None,
    budget_seconds: float | None = None,
    **options: Any,
) -> Verdict:
    """Raise AssertionError if the mechanism is not (epsilon, delta)-private; else return what was certified.

    The options are those of ``sparsegate.auditor.audit``; 10 seconds are spent if neither ``samples`` nor
    ``budget_seconds`` says otherwise. With ``samples`` and ``seed`` and a seeded mechanism the test repeats itself
    exactly. Passing proves nothing: it says that the auditor found no violation with this budget.

    >>> import numpy as np
    >>> from sparsegate.testing import assert_private
    >>> noise = np.random.default_rng(1)
    >>> def leaky(answers, n):
    ...     return answers[0] + noise.laplace(scale=0.5, size=n)
    >>> assert_private(leaky, epsilon=1, queries=1, samples=100_000, seed=1)
    Traceback (most recent call last):
    AssertionError: ...leaky is NOT private at ε = 1: ...
    """
    __tracebackhide__ = True
    if samples is None and budget_seconds is None:
        budget_seconds = _SECONDS
    verdict = audit(
        mechanism,
        epsilon=epsilon,
        delta=delta,
        confidence=confidence,
        samples=samples,
        budget_seconds=budget_seconds,
        **options,
    )
    if verdict.violates:
        raise AssertionError(verdict.sentence)
    return verdict
