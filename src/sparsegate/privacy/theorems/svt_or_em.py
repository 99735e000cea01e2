"""Section 5: the exponential mechanism peeled c times, and the accuracy of SVT and of EM where one query stands out.

Accuracy. Of k queries all but the last lie at T - alpha, the last at T + alpha. The smallest alpha for which the
right answer has probability 1 - beta is found by bisection on exact probabilities, and held against the formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sparsegate.privacy.theorems.background import CROWD, selection_loss
from sparsegate.privacy.theorems.claim import Claim, ClaimVerdict, Measured, Subject, at_least, at_most, exceeds, within
from sparsegate.privacy.theorems.measure import ABOVE, BELOW, ClaimSetting, listed

_CASES = ((10, 0.05), (1000, 0.05), (1000, 0.001))  # k queries, probability beta of failing
_BISECTIONS = 40


def _peeling(subject: Subject) -> Measured:
    """Each of c rounds selects a candidate that falls, from a crowd that rises (monotonic: stays)."""
    parts = []
    for monotonic, c in ((False, 1), (False, 5), (True, 5)):
        rate = float(subject.selection_rate(epsilon=1, count=c, sensitivity=1, monotonic=monotonic))
        rounds = (
            selection_loss(rate, [0] * (left + 1), [-1] * left + [0 if monotonic else 1], [1] * left + [CROWD[1]])
            for left in range(1, c + 1)
        )
        parts.append(at_most(f"loss of {c} rounds, {'monotonic' if monotonic else 'general'}", sum(rounds), 1.0))
    return Measured(
        parts=tuple(parts), evidence=f"loss {listed([p.measured for p in parts])} of 1 for c = 1, 5 and monotonic 5"
    )


def _slip_weights(subject: Subject) -> Measured:
    """The best of 100 stands 20 above the rest, eps = 1: the printed weight is the same for all of them."""
    rate = float(subject.selection_rate(epsilon=1, count=1, sensitivity=1, monotonic=False))
    printed, with_score = (
        weights[0] / sum(weights) for weights in ([math.exp(rate)] * 100, [math.exp(20 * rate)] + [1.0] * 99)
    )
    return Measured(
        parts=(exceeds("Pr[the best of 100 is selected], weight exp(ε/2cΔ), against 1/100", printed, 1 / 100),),
        evidence=f"best of 100, 20 ahead, ε = 1: Pr {printed:.4f} as printed, {with_score:.4f} with q in the exponent",
    )


def _least(succeeds: Callable[[float], bool], enough: float) -> float:
    """The smallest alpha that succeeds, by bisection below one that is enough."""
    low, high = 0.0, enough
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if succeeds(middle) else (middle, high)
    return high


def _right_answer(subject: Subject, queries: int, low: float, last: float) -> float:
    """Pr[BELOW^(k-1) ABOVE] of Alg. 2 at c = 1, eps = 1."""
    setting = ClaimSetting(row=subject.rows["dwork-roth-2014"], epsilon=1)
    return math.exp(setting.log_probability([low] * (queries - 1) + [last], [BELOW] * (queries - 1) + [ABOVE]))


def _svt_formula(queries: int, beta: float) -> float:
    return 8 * (math.log(queries) + math.log(2 / beta))


def _em_formula(queries: int, beta: float) -> float:
    return math.log(queries - 1) + math.log((1 - beta) / beta)


def _svt_needs(subject: Subject, queries: int, beta: float) -> float:
    return _least(lambda a: _right_answer(subject, queries, -a, a) >= 1 - beta, 2 * _svt_formula(queries, beta))


def _em_needs(subject: Subject, queries: int, beta: float) -> float:
    rate = float(subject.selection_rate(epsilon=1, count=1, sensitivity=1, monotonic=False))
    return _least(
        lambda a: 1 / (1 + (queries - 1) * math.exp(-2 * a * rate)) >= 1 - beta, 4 * _em_formula(queries, beta)
    )


def _alpha_svt(subject: Subject) -> Measured:
    parts = [
        at_most(f"α that SVT needs, k = {k}, β = {b}", _svt_needs(subject, k, b), _svt_formula(k, b)) for k, b in _CASES
    ]
    needed, formula = [p.measured for p in parts], [p.claimed for p in parts]
    return Measured(parts=tuple(parts), evidence=f"needed {listed(needed, 2)}; formula {listed(formula, 2)} (ε = 1)")


def _slip_accuracy(subject: Subject) -> Measured:
    """The last query where the printed sentence still promises ABOVE, at T - alpha; and at T + alpha."""
    (k, beta), alpha = _CASES[1], _svt_formula(*_CASES[1])
    printed, meant = (_right_answer(subject, k, -alpha, last) for last in (-alpha, alpha))
    return Measured(
        parts=(at_least(f"Pr[right answer], last query at T - α, k = {k}, against 1 - β", printed, 1 - beta),),
        evidence=f"Pr[right], k = {k}, β = {beta}: last query at T - α {printed:.1e}, at T + α {meant:.7f}",
    )


def _alpha_em(subject: Subject) -> Measured:
    parts = [
        at_most(f"α that EM needs, k = {k}, β = {b}", _em_needs(subject, k, b), _em_formula(k, b)) for k, b in _CASES
    ]
    needed, formula = [p.measured for p in parts], [p.claimed for p in parts]
    return Measured(parts=tuple(parts), evidence=f"needed {listed(needed, 3)}; formula {listed(formula, 3)} (ε = 1)")


def _ratio(subject: Subject) -> Measured:
    """Formula against formula over a wide range of k and beta; and what the two mechanisms really need."""
    wide = [(k, b) for k in (2, 10, 10**3, 10**9) for b in (1e-9, 0.01, 0.4)]
    formulas = max(8 * _em_formula(k, b) / _svt_formula(k, b) for k, b in wide)
    real = [_svt_needs(subject, k, b) / _em_needs(subject, k, b) for k, b in _CASES]
    return Measured(
        parts=(
            within("largest 8 α_EM / α_SVT, formulas", formulas, 1.0),
            exceeds("smallest α that SVT needs over α that EM needs", min(real), 1.0),
        ),
        evidence=f"8α_EM/α_SVT at most {formulas:.4f}; α that SVT needs over α that EM needs: {listed(real, 2)}",
    )


CLAIMS = (
    Claim(
        key="em-peeling",
        place="Sec. 5",
        expected=ClaimVerdict.TIGHT,
        measure=_peeling,
        statement="EM c times at ε/c each, without replacement, selects c queries with ε-DP.",
    ),
    Claim(
        key="slip-em-weights",
        place="Sec. 5",
        expected=ClaimVerdict.WRONG,
        measure=_slip_weights,
        statement="Each query is selected with probability proportional to exp(ε/(2cΔ)). (The score q is missing.)",
    ),
    Claim(
        key="alpha-svt",
        place="Sec. 5",
        expected=ClaimVerdict.HOLDS,
        measure=_alpha_svt,
        statement="At c = Δ = 1 SVT is right with probability 1 - β for α_SVT = 8(ln k + ln(2/β))/ε.",
    ),
    Claim(
        key="slip-accuracy",
        place="Sec. 5",
        expected=ClaimVerdict.WRONG,
        measure=_slip_accuracy,
        statement="(α, β)-accuracy: every answer above T - α results in ABOVE. (T + α is meant.)",
    ),
    Claim(
        key="alpha-em",
        place="Sec. 5",
        expected=ClaimVerdict.TIGHT,
        measure=_alpha_em,
        statement="EM is right with probability 1 - β for α_EM = (ln(k-1) + ln((1-β)/β))/ε.",
    ),
    Claim(
        key="alpha-ratio",
        place="Sec. 5",
        expected=ClaimVerdict.HOLDS,
        measure=_ratio,
        statement="α_EM is less than α_SVT/8, which suggests that EM is more accurate.",
    ),
)
