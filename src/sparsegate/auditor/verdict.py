"""What an audit proved, and its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sparsegate.auditor.confidence import Counts
from sparsegate.auditor.neighbours import input_text
from sparsegate.display.bar_chart import new_figure
from sparsegate.display.fonts import fitting
from sparsegate.display.plain import amount_text, plain, printable
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Single

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_SHOWN: Final = 120


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The evidence: two neighbouring inputs, and an ``event`` that is likelier on ``answers`` than on ``neighbour``.

    ``counts`` are the runs that certified it. The event was fixed before the first of them.
    """

    answers: Any
    neighbour: Any
    event: str
    counts: Counts


@dataclass(frozen=True, kw_only=True, repr=False)
class Verdict(Single):
    """What an audit proved, at ``confidence``.

    ``epsilon_lower``: no (epsilon, delta) with the claimed delta and a smaller epsilon is true of the mechanism.
    ``delta_lower``: nor is any with the claimed epsilon and a smaller delta. ``violates``: so the claim is false.
    ``samples``: outcomes drawn in all, for the search and for the proof. A verdict that does not violate is no proof of
    privacy: it says what was not found.

    >>> import numpy as np, sparsegate as sg
    >>> noise = np.random.default_rng(1)
    >>> def half_the_noise(answers, n):
    ...     return answers[0] + noise.laplace(scale=0.5, size=n)
    >>> verdict = sg.audit(half_the_noise, epsilon=1, queries=1, samples=100_000, seed=1)
    >>> verdict.violates, round(verdict.epsilon_lower, 2), verdict.confidence
    (True, 1.22, 0.99)
    >>> verdict.witness.answers, verdict.witness.neighbour, verdict.witness.event
    ((2,), (1,), 'x with x > 1.89968')
    """

    mechanism: str
    """The name of what was audited."""
    epsilon: float
    """The claim."""
    delta: float
    """The claim."""
    epsilon_lower: float
    delta_lower: float
    confidence: float
    violates: bool
    witness: Evidence
    """The evidence."""
    samples: int
    seconds: float
    """How long it took."""

    @property
    def sentence(self) -> str:
        """The verdict for a person to read."""
        claim = f"ε = {self.epsilon:g}" + (f", δ = {self.delta:g}" if self.delta else "")
        sure = f"with {100 * self.confidence:.6g} % confidence"
        if not self.violates:
            return (
                f"{self.mechanism}: no violation of {claim} found in {self.samples:,} runs; {sure} its ε is at least "
                f"{self.epsilon_lower:.4g}. This is no proof of privacy."
            )
        counts = self.witness.counts
        answers, neighbour = (input_text(part, _MOST_SHOWN) for part in (self.witness.answers, self.witness.neighbour))
        return (
            f"{self.mechanism} is NOT private at {claim}: {sure} its ε is at least {self.epsilon_lower:.4g}. "
            f"On answers {answers} the outcome was {self.witness.event} in {counts.hits1:,} of "
            f"{counts.trials1:,} runs; on the neighbour {neighbour} in {counts.hits2:,} of "
            f"{counts.trials2:,}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON takes it, by the schema "sparsegate/audit/1": see docs/reference/json.md."""
        claim = {name: amount_text(getattr(self, name)) for name in ("epsilon", "delta")}
        found = {name: plain(self[name]) for name in self.keys()}
        return {"schema": "sparsegate/audit/1", **found, **claim, "sentence": self.sentence}

    def sheet(self) -> Sheet:
        """One row: what was claimed, and what was proved."""
        names = [name for name in self.keys() if name != "witness"]
        witness = self.witness
        return Sheet(
            title=f"{self.mechanism}: {'NOT private as claimed' if self.violates else 'no violation found'}",
            brief=self.sentence,
            columns={name: [self[name]] for name in names},
            numbers=frozenset(names) - {"mechanism", "violates"},
            about={
                "answers": input_text(witness.answers, _MOST_SHOWN),
                "neighbour": input_text(witness.neighbour, _MOST_SHOWN),
                "event": witness.event,
            },
        )

    def plot(self) -> Figure:
        """The epsilon that was proved, as a bar, beside the one that was claimed."""
        figure = new_figure(6, 1.9)
        axes = figure.add_subplot()
        axes.barh([0], [self.epsilon_lower], height=0.5, color="#d55e00" if self.violates else "#4c78a8")
        axes.axvline(self.epsilon, color="#222222", linestyle="--")
        axes.set_xlim(0, 1.15 * max(self.epsilon, self.epsilon_lower))
        axes.set_yticks([0], ["proved, at least"])
        axes.set_xlabel(f"ε; dashed: claimed, {self.epsilon:g}; {100 * self.confidence:g} % confidence")
        (title,), families = fitting([printable(self.sheet().title)])
        axes.set_title(title, fontsize=10, loc="left", parse_math=False, fontfamily=families)
        axes.spines[["top", "right"]].set_visible(False)
        return figure  # type: ignore[no-any-return]
