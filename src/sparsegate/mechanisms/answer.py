"""What a gate says to one question."""

from __future__ import annotations

from dataclasses import dataclass, field

from sparsegate.display.plain import noisy_text


@dataclass(frozen=True, slots=True)
class Answer:
    """ABOVE or BELOW, and the noisy value where the mechanism releases one. True in a condition where above.

    Equal to every answer on the same side: ``gate.ask(q) == sg.ABOVE`` whatever the estimate. ``standard_error`` is
    that of the noise in the estimate, a public number (``mechanisms.gap`` says what it does not cover).

    >>> import sparsegate as sg
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> gate = sg.SparseVector(threshold=1000, cutoff=2, epsilon=1, sensitivity=1, monotonic=True, **seeded)
    >>> gate.ask(12)
    Answer(above=False, estimate=None, standard_error=None)
    >>> answer = gate.ask(4021)
    >>> print(answer)
    ABOVE, about 4,021, standard error 4.14
    >>> bool(answer), answer == sg.ABOVE, answer.estimate, round(answer.standard_error, 1)
    (True, True, 4021, 4.1)
    """

    above: bool
    """Whether it is an ABOVE."""
    estimate: int | float | None = field(default=None, compare=False)
    """The noisy answer, where an ABOVE carries one; else None."""
    standard_error: float | None = field(default=None, compare=False)

    def __bool__(self) -> bool:
        return self.above

    def __str__(self) -> str:
        return "ABOVE" * self.above + "BELOW" * (not self.above) + noisy_text(self.estimate, self.standard_error)


ABOVE = Answer(True)
"""The answer "above the threshold": equal to every ABOVE, whatever its estimate; true in a condition.

>>> import sparsegate as sg
>>> gate = sg.SparseVector(threshold=1000, cutoff=1, epsilon=1, sensitivity=1, monotonic=True)
>>> gate.ask(4021) == sg.ABOVE
True
"""

BELOW = Answer(False)
"""The answer "below the threshold": false in a condition, and free.

>>> import sparsegate as sg
>>> gate = sg.SparseVector(threshold=1000, cutoff=1, epsilon=1, sensitivity=1, monotonic=True)
>>> gate.ask(12) == sg.BELOW, gate.remaining
(True, 1)
"""
