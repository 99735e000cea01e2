"""For test suites: `assert_private` fails a test when a mechanism is proven to leak more than it claims.

from sparsegate.testing import assert_private

def test_my_gate_is_private():
    assert_private(my_gate, epsilon=1.0, queries=5, monotonic=True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from sparsegate.auditor import Verdict, audit
from sparsegate.auditor.audit import Auditable

__all__ = ["CONFIDENCE", "assert_private"]

_SECONDS: Final = 10.0
CONFIDENCE: Final = 1 - 1e-6
"""A test that fails by chance teaches people to ignore it: a sound mechanism fails once in a million runs at most.

>>> from sparsegate.testing import CONFIDENCE
>>> round(1 / (1 - CONFIDENCE))
1000000
"""


def assert_private(
    mechanism: Callable[..., Any] | Auditable,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    rho: float | None = None,
    rdp: tuple[float, float] | None = None,
    confidence: float = CONFIDENCE,
    queries: int | tuple[int, int] = 10,
    sensitivity: float = 1,
    monotonic: bool = False,
    centre: float = 0,
    neighbours: Iterable[tuple[Any, Any]] = (),
    patterns: bool = True,
    batch: bool | None = None,
    samples: int | None = None,
    budget_seconds: float | None = None,
    call_timeout: float = 30.0,
    replay: bool | Callable[[int], Any] = False,
    seed: int | None = None,
) -> Verdict:
    """Raise AssertionError if the mechanism is not as private as claimed; else return what was certified.

    The parameters are those of ``sparsegate.audit``; 10 seconds are spent if neither ``samples`` nor
    ``budget_seconds`` says otherwise. With ``samples`` and ``seed`` and a seeded mechanism the test repeats itself
    exactly. With ``replay`` what the same randomness on neighbours showed fails it as well. Passing proves nothing: it
    says that the auditor found no violation with this budget.

    >>> import numpy as np
    >>> from sparsegate.testing import assert_private
    >>> noise = np.random.default_rng(1)
    >>> def leaky(answers, n):
    ...     return answers[0] + noise.laplace(scale=0.5, size=n)
    >>> assert_private(leaky, epsilon=1, queries=1, samples=100_000, seed=1)
    Traceback (most recent call last):
    AssertionError: ...leaky is NOT private at ε = 1: ...
    """
    options = dict(locals())
    __tracebackhide__ = True
    if samples is None and budget_seconds is None:
        options["budget_seconds"] = _SECONDS
    verdict = audit(options.pop("mechanism"), **options)
    if verdict.violates or (verdict.replay is not None and verdict.replay.findings):
        raise AssertionError(verdict.sentence)
    return verdict
