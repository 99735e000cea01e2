"""Gates and selections as measurements of OpenDP: its compositors, odometers and contexts charge them by honest maps.

Needs the package ``opendp``, the extra of that name. OpenDP cannot look into a function that is not its own, and asks
whoever uses one to switch on its feature "honest-but-curious": what the maps say is what is proved. *Theorem.* At a
distance of d_in, a whole number by which one of the scores can move, ``make_top`` at epsilon is (d_in epsilon)-DP and
(d_in**2 rho)-zCDP, rho that of ``select_top`` at distance 1; under the L1 distance with the noise of monotonic scores.
*Theorem.* A query of ``make_above_threshold`` is answered only if its own map says that it moves by at most
``sensitivity`` for data at distance d_in, and costs nothing if it is refused; the whole interaction is epsilon-DP. That
all queries move in one direction (``monotonic``) remains your promise. Proofs:
docs/explanation/proofs_in_words/core.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sparsegate.budget import Number, check_truth, exact_count
from sparsegate.errors import ParameterError, load_extra
from sparsegate.gates.sparse_vector import SparseVector
from sparsegate.selection.select import AUTO, Request, select_top

if TYPE_CHECKING:
    from opendp.mod import Domain, Measure, Measurement, Metric


def make_top(
    input_domain: Domain,
    input_metric: Metric,
    output_measure: Measure,
    *,
    count: int,
    epsilon: Number,
    ordered: bool = False,
    method: str = AUTO,
) -> Measurement:
    """The places of the ``count`` largest scores, by ``select_top``: a measurement whose map is in the module's words.

    Parameters
    ----------
    input_domain: ``dp.vector_domain(dp.atom_domain(T=int))``, of whole numbers.
    input_metric: ``dp.linf_distance(T=int)``, with ``monotonic=True`` where all scores of one person move one way; or
        ``dp.l1_distance(T=int)``.
    output_measure: ``dp.max_divergence()`` or ``dp.zero_concentrated_divergence()``.
    epsilon: what it costs where a score moves by one.
    ordered, method: as in ``select_top``.
    """
    dp = load_extra("opendp.prelude", extra="opendp")
    metric = repr(input_metric)
    if not metric.startswith(("LInfDistance(", "L1Distance(")):
        rule = "must be the distance of a score, or of all of them together"
        raise ParameterError("input_metric", rule, metric, "pass dp.linf_distance(T=int) or dp.l1_distance(T=int)")
    if not _whole(str(input_domain.carrier_type).removeprefix("Vec<").removesuffix(">")):
        rule = "must be a vector of whole numbers"
        raise ParameterError("input_domain", rule, repr(input_domain), "pass dp.vector_domain(dp.atom_domain(T=int))")
    monotonic = metric.startswith(("LInfDistance(monotonic", "L1Distance("))
    asked: dict[str, Any] = {"count": count, "epsilon": _itself(epsilon), "sensitivity": 1, "monotonic": monotonic}
    asked |= {"ordered": ordered, "method": method}
    ready = Request(**asked).checked
    losses = {"MaxDivergence": (ready.epsilon, 1), "ZeroConcentratedDivergence": (ready.rho or ready.epsilon**2 / 2, 2)}
    cost, power = _loss(output_measure, losses)

    def select(scores: Any) -> list[int]:
        places = select_top(list(scores), **asked).indices
        assert places is not None
        return [int(place) for place in places]

    def privacy_map(d_in: Any) -> float:
        return _upwards(cost * math.ceil(d_in) ** power)

    return dp.m.make_user_measurement(input_domain, input_metric, output_measure, select, privacy_map, TO="Vec<i64>")


def make_above_threshold(
    input_domain: Domain,
    input_metric: Metric,
    output_measure: Measure,
    *,
    d_in: Any,
    threshold: int,
    cutoff: int,
    epsilon: Number,
    sensitivity: int = 1,
    monotonic: bool = False,
) -> Measurement:
    """A gate over data: a queryable that answers transformations to a whole number with True for ABOVE.

    Parameters
    ----------
    input_domain, input_metric: those of the data, and of the queries.
    output_measure: ``dp.max_divergence()`` or ``dp.zero_concentrated_divergence()``.
    d_in: the distance that the map is for; for a larger one it promises nothing.
    threshold, cutoff, epsilon, sensitivity, monotonic: as in ``SparseVector``.
    """
    dp = load_extra("opendp.prelude", extra="opendp")
    check_truth(monotonic, "monotonic")
    most = exact_count(sensitivity, "sensitivity")
    asked: dict[str, Any] = {"threshold": threshold, "cutoff": cutoff, "epsilon": _itself(epsilon)}
    asked |= {"sensitivity": most, "monotonic": monotonic}
    spent = SparseVector.preview(**asked).epsilon
    losses = {"MaxDivergence": (spent, 1), "ZeroConcentratedDivergence": (spent**2 / 2, 2)}
    cost, _ = _loss(output_measure, losses)

    def interact(data: Any) -> Any:
        gate = SparseVector(**asked)

        def answer(query: Any, internal: bool) -> bool:
            if internal or not isinstance(query, dp.Transformation):
                raise ParameterError("query", "must be a transformation of the data to a number", type(query).__name__)
            if query.input_domain != input_domain or query.input_metric != input_metric:
                raise ParameterError("query", "must be of the domain and metric of the gate", repr(query))
            moves = query.output_metric
            if not (
                repr(moves).startswith("AbsoluteDistance(") and _whole(moves.distance_type) and query.check(d_in, most)
            ):
                rule = f"must give a whole number that moves by at most {most} for data at distance {d_in}"
                raise ParameterError("query", rule, repr(moves), "clamp it, or raise the sensitivity")
            return bool(gate.ask(query(data)))

        return dp.new_queryable(answer, Q="ExtrinsicObject", A=bool)

    def privacy_map(distance: Any) -> float:
        if distance > d_in:
            raise ParameterError("d_in", f"must be at most {d_in}, which the gate was made for", distance)
        return _upwards(cost)

    return dp.m.make_user_measurement(input_domain, input_metric, output_measure, interact, privacy_map)


def _whole(carrier: Any) -> bool:
    """Whether a type of OpenDP's has whole numbers."""
    return str(carrier) in {f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64, 128, "size")}


def _loss(measure: Measure, losses: dict[str, tuple[Fraction, int]]) -> tuple[Fraction, int]:
    """What is charged by a measure, and the power of the distance by which it grows."""
    if (name := repr(measure)) not in losses:
        rule = f"must be one of {', '.join(losses)}"
        raise ParameterError("output_measure", rule, name, "pass dp.max_divergence()")
    return losses[name]


def _itself(epsilon: Number) -> Number:
    """A float as the number that it is: the decimal that 0.3 prints as is more, and a room of 0.3 could not pay it."""
    return Fraction(epsilon) if isinstance(epsilon, float) and math.isfinite(epsilon) else epsilon


def _upwards(exact: Fraction) -> float:
    """The least float that is not below."""
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)
