"""The paper's table of differences as data: one row for each published algorithm, and for what came after the paper.

The streaming runner, the batch runner, the exact analyser and the simulator all interpret these rows; none of them
knows an algorithm by name. Numbering is that of Lyu, Su, Li, *Understanding the Sparse Vector Technique for
Differential Privacy* (PVLDB 10(6), 2017). Where the paper's listing and its table disagree, Alg. 2
follows the table (nu ~ Lap(2c Delta/eps2), every rho ~ Lap(c Delta/eps1)), which costs eps1 + eps2 at any split, and
Alg. 3 the listing (nu ~ Lap(c Delta/eps2)).

Of Alg. 1, eps and, monotonic, 3 eps/4. Of Alg. 2, eps1 + eps2 and, monotonic, eps1 + eps2/2. Of Alg. 3, not private. Of
Alg. 4, not private at its epsilon, whatever c. Of Alg. 5, not private. Of Alg. 6 and GPTT, not private.
Machine-checked: proofs/README.md.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from sparsegate.budget import Allocation, Budget
from sparsegate.errors import ParameterError, unknown_key
from sparsegate.gates.laws import LAWS, GateLaw

UNKNOWN = "not known"
_FAR = 1000  # noise units: an estimate that far below makes |estimate - answer| have one sign


class Compared(enum.Enum):
    """What is held against the noisy threshold T + rho; e is a public estimate of the answer q.

    ``ANSWER`` in all rows but those of Hardt and Rothblum, which compare how far the answer is from the estimate: with
    ``ERROR_NOISE_INSIDE`` the absolute value is taken last, with ``ERROR_NOISE_OUTSIDE`` first.

    >>> import sparsegate as sg
    >>> sg.VARIANTS["hardt-rothblum-2010"].compared.value
    '|e - q + nu|'
    """

    ANSWER = "q + nu"
    ERROR_NOISE_INSIDE = "|e - q + nu|"
    ERROR_NOISE_OUTSIDE = "|e - q| + nu"


class Released(enum.Enum):
    """What a positive hands out besides ABOVE, and besides the gap of a row that releases it.

    ``NOTHING``; the ``NOISY_ANSWER`` that passed the threshold, whose noise was not drawn to be released; or a
    ``FRESH_ANSWER``, with noise of its own, paid for by the answers share of the budget.

    >>> import sparsegate as sg
    >>> [key for key, row in sg.VARIANTS.items() if row.released is sg.variants.Released.NOISY_ANSWER]
    ['roth-2011', 'hardt-rothblum-2010']
    """

    NOTHING = "nothing"
    NOISY_ANSWER = "q + nu, the noisy answer that was compared"
    FRESH_ANSWER = "q + fresh noise, if the budget has an answers share"


class Noise(enum.Enum):
    """The law of rho and nu: two-sided ``LAPLACE``, or one-sided ``EXPONENTIAL``, discrete on the lattice.

    >>> import sparsegate as sg
    >>> [key for key, row in sg.VARIANTS.items() if row.noise is sg.variants.Noise.EXPONENTIAL]
    ['liu-2024', 'exponential-gap']
    """

    LAPLACE = "two-sided Laplace"
    EXPONENTIAL = "one-sided exponential, rho and nu both >= 0"

    @property
    def law(self) -> GateLaw:
        """All that depends on it; one that ``gates.laws`` does not describe is refused by its name."""
        if self.name not in LAWS:
            raise ParameterError("noise", "must be a law of sparsegate.gates.laws", self.name, "describe it there")
        return LAWS[self.name]

    @property
    def one_sided(self) -> bool:
        """Whether it is never negative."""
        return self.law.one_sided


class Closes(enum.Enum):
    """When a row answers no more: ``NEVER``, after the c-th ``ABOVE``, or when the ``RARER`` answer was given c times.

    >>> import sparsegate as sg
    >>> [key for key, row in sg.VARIANTS.items() if row.closes is sg.variants.Closes.NEVER]
    ['stoddard-2014', 'chen-2015', 'gptt']
    """

    NEVER = "never"
    ABOVE = "after c positives"
    RARER = "when it has given both answers c times"


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A noise scale: factor * Delta / share, times the cutoff c where ``per_cutoff``. Factor 0 means no noise.

    >>> from fractions import Fraction
    >>> from sparsegate.variants import Scale
    >>> Scale(factor=2, per_cutoff=True).formula("ε₂"), Scale(factor=Fraction(1, 2)).formula("ε₁")
    ('2cΔ/ε₂', '1/2 Δ/ε₁')
    """

    factor: int | Fraction
    """A whole number or an exact fraction, at least 0."""
    per_cutoff: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.factor, bool) or not isinstance(self.factor, int | Fraction) or self.factor < 0:
            raise ParameterError("factor", "must be an int or a Fraction, at least 0", self.factor, "0 is no noise")

    def multiple(self, cutoff: int) -> int | Fraction:
        """The scale in units of Delta / share."""
        return self.factor * cutoff if self.per_cutoff else self.factor

    def formula(self, share: str) -> str:
        """The scale as text: "2cΔ/ε₂"."""
        if not self.factor:
            return "0"
        factor = "" if self.factor == 1 else f"{self.factor} " if self.factor % 1 else str(self.factor)
        return f"{factor}{'c' if self.per_cutoff else ''}Δ/{share}"


class Scales(NamedTuple):
    """Noise scales in units of the sensitivity; None stands for no noise (answers: nothing numeric is released)."""

    threshold: Fraction | None
    query: Fraction | None
    answer: Fraction | None


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One algorithm, published or your own: ``key`` and its noise define it, everything else has a default.

    ABOVE iff what is ``compared`` >= T + rho + kappa. kappa is public: 0 for Laplace noise, and where ``noise`` is
    one-sided what centres the comparison (``gates.laws``). ``threshold_noise`` is the scale of rho, ``query_noise``
    that of nu, and ``query_noise_monotonic`` the same unless given. ``released`` is what an ABOVE hands out, where
    ``gap`` also by how much it was above; ``closes`` says when it answers no more. ``algorithm`` is its number in the
    paper, ``title`` its name for people, ``citation`` where it was published; ``claimed`` and ``truth`` are the loss
    that its authors state and the one it has, and ``flaw`` says what is wrong with it.

    ``private`` says whether the claim of epsilon-DP is true; None: nobody knows yet. Nothing is taken on faith: a run
    is called private only where its tight loss, computed for its own cutoff and shares (``tight_epsilon``), is no more
    than it is charged; any other needs ``not_private=True``.

    >>> import sparsegate as sg
    >>> one = sg.variants.Scale(factor=1)
    >>> mine = sg.variants.Variant(key="mine", threshold_noise=one, query_noise=one)
    >>> [sg.privacy.tight_epsilon(mine, cutoff=c, epsilon=1, allocation="1:1") for c in (1, 2)]
    [1.5, 2.5]
    """

    key: str
    algorithm: str = "-"
    title: str = UNKNOWN
    citation: str = UNKNOWN
    allocation: Allocation = "optimal"
    """How its authors split epsilon into eps1 for the threshold and eps2 for the queries."""
    threshold_noise: Scale
    redraws_threshold: bool = False
    """Whether rho is drawn anew after each ABOVE."""
    query_noise: Scale
    query_noise_monotonic: Scale = None  # type: ignore[assignment]  # set below: that of query_noise
    compared: Compared = Compared.ANSWER
    released: Released = Released.NOTHING
    gap: bool = False
    noise: Noise = Noise.LAPLACE
    closes: Closes = Closes.ABOVE
    claimed: str = UNKNOWN
    truth: str = UNKNOWN
    private: bool | None = None
    flaw: str = ""

    def __post_init__(self) -> None:
        if self.query_noise_monotonic is None:
            object.__setattr__(self, "query_noise_monotonic", self.query_noise)
        for name, kind in get_type_hints(type(self)).items():
            # One that is mistyped would be run as another row, and believed to be this one.
            if not isinstance(value := getattr(self, name), kind):
                kinds = getattr(kind, "__name__", str(kind))
                raise ParameterError(name, f"must be of type {kinds}", value, "see docs/how-to/variants.md")
        if (self.private is False) != bool(self.flaw):
            raise ParameterError("flaw", "must be given exactly where the row is not private", self.key)
        inside = self.compared is Compared.ERROR_NOISE_INSIDE
        odd = self.redraws_threshold or inside or self.released is Released.NOISY_ANSWER
        signless = self.gap and self.compared is not Compared.ANSWER  # a gap to |e - q| is no estimate of q
        if signless or (odd and (self.gap or self.noise is not Noise.LAPLACE)):
            rule = "must be that of a row with the noise outside, that draws rho once and releases no compared answer"
            raise ParameterError("gap or noise", rule, self.key, "the loss of any other row is not known")

    @property
    def stops(self) -> bool:
        """Whether there is an end to what it answers."""
        return self.closes is not Closes.NEVER

    def budget(self, epsilon: object, *, cutoff: int, monotonic: bool, allocation: Allocation | None = None) -> Budget:
        """Split epsilon as the authors did, or by another ``allocation``."""
        chosen = self.allocation if allocation is None else allocation
        return Budget.allocate(epsilon, cutoff=cutoff, monotonic=monotonic, allocation=chosen)  # type: ignore[arg-type]

    def scales(self, budget: Budget, *, cutoff: int, monotonic: bool) -> Scales:
        """The noise scales of this row, in units of the sensitivity, as exact rationals."""
        if budget.answer_epsilon and self.released is not Released.FRESH_ANSWER:
            rule = f"must be 0 for {self.key}, which releases {self.released.value}"
            raise ParameterError("answers", rule, budget.answer_epsilon, 'use VARIANTS["standard"] for numeric answers')
        query = self.query_noise_monotonic if monotonic else self.query_noise
        multiple, bar = query.multiple(cutoff), self.threshold_noise.multiple(cutoff)
        return Scales(
            threshold=bar / budget.threshold_epsilon if bar and budget.threshold_epsilon else None,
            query=multiple / budget.query_epsilon if multiple else None,
            answer=cutoff / budget.answer_epsilon if budget.answer_epsilon else None,
        )

    def for_audit(
        self,
        *,
        epsilon: float,
        cutoff: int = 1,
        sensitivity: float = 1,
        monotonic: bool = False,
        centre: float = 0,
        source: Any = None,
    ) -> Callable[[Any, int], Any]:
        """What ``sparsegate.audit`` runs: what was ABOVE the threshold ``centre``, and the numbers of positives.

        Its answers are made up: a flawed row runs without a waiver. A row that compares errors gets public estimates
        far below ``centre`` and a threshold as large: then |estimate - answer| is that large where answer >= centre.
        """
        from sparsegate.gates.research import run_many

        public: dict[str, Any] = {"epsilon": epsilon, "sensitivity": sensitivity, "monotonic": monotonic}
        far = centre if self.compared is Compared.ANSWER else _FAR * max(1, round(sensitivity / epsilon))

        def mechanism(answers: Any, n: int) -> Any:
            bar = far if answers.dtype.kind == "i" else float(far)
            guesses = None if self.compared is Compared.ANSWER else np.full_like(answers, centre - far)
            asked = {"runs": n, "threshold": bar, "estimates": guesses, "cutoff": cutoff, "source": source}
            out = run_many(self, answers, **asked, **public, not_private=True)
            if out.values is None:
                return out.above
            return out.above, out.values.sum(axis=1) if cutoff == 1 else out.values

        mechanism.__module__, mechanism.__qualname__ = "sparsegate", self.key
        return mechanism

    def check_estimate(self, estimate: object, parameter: str) -> None:
        """Refuse a public estimate where the row compares the answer, and a lack of one where it compares an error."""
        if (estimate is None) != (self.compared is Compared.ANSWER):
            rule = f"must be given exactly where the row compares an error; {self.key} compares {self.compared.value}"
            raise ParameterError(parameter, rule, next_step="see `sparsegate variants`")

    def require_private(self, not_private: bool, *, loss: Fraction | float = 0, paid: Fraction = Fraction(0)) -> None:
        """Refuse a flawed row, and a run whose tight ``loss`` is more than is ``paid``, unless privacy is waived."""
        if not_private or (self.private is not False and loss <= paid):
            return
        why = self.flaw or f"its tight loss here is {float(loss):g}, and only {float(paid):g} is paid for it"
        rule = f"must be True to run {self.key}: {why}"
        raise ParameterError("not_private", rule, next_step='use VARIANTS["standard"]')


_ONE, _C, _TWO_C = Scale(factor=1), Scale(factor=1, per_cutoff=True), Scale(factor=2, per_cutoff=True)
_NONE = Scale(factor=0)

_LSL = "Lyu, Su, Li: Understanding the Sparse Vector Technique for Differential Privacy, PVLDB 10(6), 2017"
_DING = (
    "Ding, Wang, Zhang, Kifer: Free gap information from the differentially private sparse vector and noisy max "
    "mechanisms, PVLDB 13(3), 2019"
)
_LIU = (
    "Liu, Wang, Liu, Li, Chen: Accuracy-enhanced sparse vector technique with exponential noise and optimal threshold "
    "correction (preprint: Unleash the power of ellipsis), PVLDB 18(2), 2024"
)
_RELEASED = (
    "it releases the noisy answer that passed the test, which reveals where the noisy threshold cannot be, so every "
    "BELOW costs"
)

_STANDARD = Variant(
    key="standard",
    algorithm="Alg. 7",
    title="Standard SVT",
    citation=_LSL,
    threshold_noise=_ONE,
    query_noise=_TWO_C,
    query_noise_monotonic=_C,
    released=Released.FRESH_ANSWER,
    claimed="ε₁+ε₂+ε₃",
    truth="ε₁+ε₂+ε₃; monotonic: less the smallest of the three",
    private=True,
)
_LYU = Variant(
    key="lyu-2017",
    algorithm="Alg. 1",
    title="Lyu, Su, Li 2017",
    citation=_LSL,
    allocation="1:1",
    threshold_noise=_ONE,
    query_noise=_TWO_C,
    claimed="ε",
    truth="ε; monotonic 3ε/4",
    private=True,
)
_DWORK_ROTH = replace(
    _LYU,
    key="dwork-roth-2014",
    algorithm="Alg. 2",
    title="Dwork, Roth 2014",
    citation="Dwork, Roth: The Algorithmic Foundations of Differential Privacy, 2014",
    threshold_noise=_C,
    redraws_threshold=True,
)
_ROTH = Variant(
    key="roth-2011",
    algorithm="Alg. 3",
    title="Roth 2011 (lecture notes)",
    citation="Roth: The sparse vector technique, lecture notes, 2011",
    allocation="1:1",
    threshold_noise=_ONE,
    query_noise=_C,
    released=Released.NOISY_ANSWER,
    claimed="ε",
    truth="∞: (m+k)ε/(2c) for m BELOW and k ABOVE; its indicators alone 3ε/2",
    private=False,
    flaw=_RELEASED,
)
_LEE_CLIFTON = Variant(
    key="lee-clifton-2014",
    algorithm="Alg. 4",
    title="Lee, Clifton 2014",
    citation="Lee, Clifton: Top-k frequent itemsets via differentially private FP-trees, KDD 2014",
    allocation="1:3",
    threshold_noise=_ONE,
    query_noise=_ONE,
    claimed="ε",
    truth="(1+6c)ε/4; monotonic (1+3c)ε/4",
    private=False,
    flaw=(
        "its query noise does not grow with the cutoff c, so each of the c positives costs as much as one was meant to"
    ),
)
_STODDARD = Variant(
    key="stoddard-2014",
    algorithm="Alg. 5",
    title="Stoddard, Chen, Machanavajjhala 2014",
    citation="Stoddard, Chen, Machanavajjhala: Differentially private algorithms for empirical machine learning, 2014",
    allocation="1:1",
    threshold_noise=_ONE,
    query_noise=_NONE,
    closes=Closes.NEVER,
    claimed="ε",
    truth="∞ after two queries",
    private=False,
    flaw=(
        "it adds no noise to the answers, so some outcomes of two queries are possible on one dataset "
        "and impossible on its neighbour"
    ),
)
_CHEN = Variant(
    key="chen-2015",
    algorithm="Alg. 6",
    title="Chen, Xiao, Zhang, Xu 2015",
    citation=(
        "Chen, Xiao, Zhang, Xu: Differentially private high-dimensional data publication via "
        "sampling-based inference, KDD 2015"
    ),
    allocation="1:1",
    threshold_noise=_ONE,
    query_noise=_ONE,
    closes=Closes.NEVER,
    claimed="ε",
    truth="∞: nε/2 after n queries",
    private=False,
    flaw="it never stops after positives and its noise does not grow with them, so the loss grows with every query",
)
_GPTT = replace(
    _CHEN,
    key="gptt",
    algorithm="GPTT",
    title="Generalized private threshold testing",
    citation="Chen, Machanavajjhala: On the privacy properties of variants on the sparse vector technique, 2015",
    claimed="not private",
    truth="∞: nε₂ after an even number n of queries",
    flaw="it never stops after positives, so the loss grows with every query",
)
_HARDT_ROTHBLUM = Variant(
    key="hardt-rothblum-2010",
    algorithm="HR10/RR10",
    title="Hardt, Rothblum 2010; Roth, Roughgarden 2010",
    citation=(
        "Hardt, Rothblum: A multiplicative weights mechanism, FOCS 2010; "
        "Roth, Roughgarden: Interactive privacy via the median mechanism, STOC 2010"
    ),
    allocation="1:1",
    threshold_noise=_ONE,
    query_noise=_TWO_C,
    compared=Compared.ERROR_NOISE_INSIDE,
    released=Released.NOISY_ANSWER,
    claimed="ε",
    truth="∞: (m+k)ε/(4c) for m BELOW and k ABOVE",
    private=False,
    flaw=_RELEASED,
)
_INDICATOR = replace(
    _HARDT_ROTHBLUM,
    key="hardt-rothblum-2010-indicator",
    title="the same test, releasing ABOVE or BELOW alone",
    released=Released.NOTHING,
    claimed="not private (Lyu, Su, Li)",
    truth="ε",
    private=True,
    flaw="",
)
_REPAIRED = replace(
    _INDICATOR,
    key="hardt-rothblum-2010-repaired",
    title="the same test with the noise outside the absolute value",
    citation=_LSL,
    compared=Compared.ERROR_NOISE_OUTSIDE,
    claimed="ε",
)
_WITH_GAP = replace(
    _STANDARD,
    key="ding-2019",
    algorithm="Ding+ 19",
    title="Ding, Wang, Zhang, Kifer 2019: standard SVT with the gap",
    citation=_DING,
    gap=True,
)
_ONE_SIDED = replace(
    _STANDARD,
    key="liu-2024",
    algorithm="Liu+ 24",
    title="Liu, Wang, Liu, Li, Chen 2024: exponential noise",
    citation=_LIU,
    released=Released.NOTHING,
    noise=Noise.EXPONENTIAL,
    claimed="ε₁+ε₂",
    truth="ε₁+ε₂",
)
_ONE_SIDED_WITH_GAP = replace(
    _WITH_GAP,
    key="exponential-gap",
    algorithm="both",
    title="exponential noise, with the gap: the gate of this library",
    citation=f"{_LIU}; {_DING}",
    noise=Noise.EXPONENTIAL,
)
_TWO_SIDED = replace(
    _STANDARD,
    key="two-sided",
    algorithm="new",
    title="standard SVT that closes when both answers were given c times",
    citation=f"the tight loss of {_LSL}, which does not tell the two answers apart",
    released=Released.NOTHING,
    closes=Closes.RARER,
    claimed="ε₁+ε₂",
    truth="ε₁+ε₂, for Laplace noise and indicators only",
)

_PAPER = (_STANDARD, _LYU, _DWORK_ROTH, _ROTH, _LEE_CLIFTON, _STODDARD, _CHEN, _GPTT)
_LATER = (_HARDT_ROTHBLUM, _INDICATOR, _REPAIRED, _WITH_GAP, _ONE_SIDED, _ONE_SIDED_WITH_GAP, _TWO_SIDED)

VARIANTS: Mapping[str, Variant] = MappingProxyType({row.key: row for row in _PAPER + _LATER})
"""Every published algorithm, sound and flawed, as a row of data by its key.

>>> import sparsegate as sg
>>> row = sg.VARIANTS["chen-2015"]
>>> row.algorithm, row.private, row.closes.name
('Alg. 6', False, 'NEVER')
>>> [key for key, row in sg.VARIANTS.items() if row.private is False][:3]
['roth-2011', 'lee-clifton-2014', 'stoddard-2014']
"""


def variant(row: Variant | str) -> Variant:
    """A row, given itself or its key."""
    if isinstance(row, Variant):
        return row
    if row not in VARIANTS:
        raise unknown_key("row", "must be a Variant, or the key of one", row, VARIANTS, "see `sparsegate variants`")
    return VARIANTS[row]
