"""What a release would cost and be good for, from public numbers alone: to be seen before anything is charged.

``Preview`` is the one kind of result that every ``preview`` gives: of gates, tables, alerts and other uses.

The margin of a gate at other epsilons needs no other plan: every loss is a sum of rates, that is of 1/scale
(``bounds``), so the noise that is best for f * epsilon is that for epsilon with all scales divided by f. (Not with a
delta; then there is no curve.) The margin at other cutoffs is that of a gate made for each.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, overload

from sparsegate.budget import Cost
from sparsegate.display.charts import new_figure
from sparsegate.display.plain import amount_text, plain
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Tabular
from sparsegate.errors import ParameterError
from sparsegate.gates.accounting import gate_cost
from sparsegate.gates.calibration import Calibration
from sparsegate.gates.gate import Estimator
from sparsegate.gates.lattice import exact_number
from sparsegate.gates.series import Budget, Series, decimal, first_decimal, series_of, zcdp_texts
from sparsegate.gates.variants import Scales
from sparsegate.noise import exact_scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FACTORS: Final = tuple(Fraction(tenths, 10) for tenths in (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100))  # of epsilon
_CUTOFF_FACTORS: Final = tuple(Fraction(tenths, 10) for tenths in (1, 2, 5, 10, 20, 50, 100))  # fewer: each is a gate
# The colours of Okabe and Ito; a marker of its own tells each line apart without colour vision and in print.
_LINES: Final = (("#0072B2", "o"), ("#D55E00", "v"), ("#009E73", "D"), ("#E69F00", "^"), ("#000000", "s"))


@dataclass(frozen=True, kw_only=True)
class Curve:
    """How one figure of the accuracy changes with one parameter, all else being equal."""

    figure: str
    """A name in ``Preview.accuracy``."""
    parameter: str
    """"epsilon", or a name in ``Preview.settings``."""
    points: tuple[tuple[float, float], ...]
    """The parameter and the figure."""
    label: str = ""
    """What it is the curve of, where there are several: a method."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Preview(Tabular):
    """What a release would be charged, and the accuracy to expect of it.

    The figures of ``accuracy`` and the ``settings`` are attributes, too: ``preview.margin``, ``preview.cutoff``.
    Of a gate: an answer that is ``margin`` from the threshold is on the right side with ``confidence``; with
    ``margin_all`` as many at once as ``answers`` says. ``standard_error`` is that of the estimate of an ABOVE, None
    where it carries none.

    >>> import sparsegate as sg
    >>> preview = sg.SparseVector.preview(threshold=1000, cutoff=25, epsilon=0.5, sensitivity=1, monotonic=True)
    >>> preview.epsilon, preview.margin, preview.margin_all
    (Fraction(1, 2), 92, 272)
    >>> [(epsilon, margin) for epsilon, margin in preview.points("epsilon") if epsilon >= 1]
    [(1.0, 46), (1.5, 31), (2.5, 19), (3.5, 14), (5.0, 10)]
    """

    release: str
    """What is previewed: "gate", "top items", "alert"."""
    epsilon: Fraction
    """What would be charged."""
    delta: Fraction = Fraction(0)
    """The delta that would be charged; 0 is pure differential privacy."""
    confidence: float = 0.95
    """The probability with which the figures hold."""
    accuracy: Mapping[str, Any]
    """Named figures, in units of the answer; None where nothing is promised."""
    settings: Mapping[str, Any]
    """The public parameters and choices that the figures are for."""
    statement: str
    """The preview in a sentence or two."""
    warning: str = ""
    """Why the release would be of little use, and what to do about it; empty where it would be of use."""
    alternatives: tuple[Mapping[str, Any], ...] = ()
    """What else could be released, by other methods for instance: the rows of the table."""
    helps: tuple[Mapping[str, Any], ...] = ()
    """What would help: the same release with one parameter changed, and the figures of that, where they are better."""
    levels: Mapping[str, float] = field(default_factory=dict)
    """What to compare the first figure with, such as the threshold: dashed lines of the picture."""
    make_curves: Callable[[], Iterable[Curve]] = field(default=tuple, compare=False)
    """Computes ``curves`` when they are first read."""
    cost: Cost = None  # type: ignore[assignment]
    """What would be charged by either rule: epsilon and delta, or rho and the delta beside it."""
    cost_at: Callable[[Fraction], Cost] | None = field(default=None, compare=False)
    """What the same would cost at another epsilon; None where that is not known."""
    series: Series | None = None
    """What many of them would cost, where that was asked for."""

    def __post_init__(self) -> None:
        whole = Cost.of(self.epsilon, self.delta)
        if self.cost is None:
            object.__setattr__(self, "cost", whole)
        if self.cost_at is None and self.cost == whole and self.epsilon:
            object.__setattr__(self, "cost_at", partial(Cost.of, delta=self.delta))

    def repeated(self, times: int, *, budget: Budget | None = None, ledger: Any = None) -> Preview:
        """The same preview with its ``series``: what so many of these releases cost by either rule.

        ``budget``, an epsilon or an epsilon and a delta, or what an open ``ledger`` has left, says what they should
        fit: then the series says how large each of them may be.

        >>> import sparsegate as sg
        >>> weekly = sg.SparseVector.preview(threshold=1000, cutoff=5, epsilon=0.2, sensitivity=1, monotonic=True)
        >>> print(weekly.repeated(52, budget=(3, 1e-6)).series.statement)
        52 of them cost epsilon 10.4 by adding, and rho 1.03655 on a zCDP ledger, which is epsilon 7.93 at delta 1e-06:
        a zCDP ledger is better. So that they fit epsilon 3 at delta 1e-06 each may have epsilon 0.0843 at most on a
        zCDP ledger, and 0.0576 by adding.
        """
        series = series_of(self.cost, times, budget=budget, ledger=ledger, cost_at=self.cost_at)
        included = "answers_epsilon" if self.settings.get("answers_epsilon") else ""
        return replace(self, series=replace(series, included=included))

    def __getattr__(self, name: str) -> Any:
        for named in (self.__dict__.get("accuracy", {}), self.__dict__.get("settings", {})):
            if name in named:
                return named[name]
        raise AttributeError(f"this preview has no {name!r}", name=name, obj=self)

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *self.accuracy, *self.settings})

    @property
    def advice(self) -> str:
        """What would help, in a sentence; empty where nothing is known to."""
        each = [
            " and ".join(f"{name}={plain(value)}" for name, value in row["change"].items())
            + f" (within {figure_text(row['within'])})"
            for row in self.helps
        ]
        return f"What would help: {', or '.join(each)}." if each else ""

    @cached_property
    def curves(self) -> tuple[Curve, ...]:
        """How the figures change with epsilon and other parameters; empty where that is not known."""
        return tuple(self.make_curves())

    def points(self, parameter: str) -> tuple[tuple[float, float], ...]:
        """The points of the first curve over this parameter; none where there is no such curve."""
        return next((curve.points for curve in self.curves if curve.parameter == parameter), ())

    def to_dict(self) -> dict[str, Any]:
        """The preview as JSON takes it, by the schema "sparsegate/preview/1"."""
        return {
            "schema": "sparsegate/preview/1",
            "release": self.release,
            "epsilon": amount_text(self.epsilon),
            "delta": amount_text(self.delta),
            **zcdp_texts(self.cost),
            "confidence": self.confidence,
            "settings": plain(self.settings),
            "accuracy": plain(self.accuracy),
            "statement": self.statement,
            "warning": self.warning or None,
            "items": plain(self.alternatives),
            "helps": plain(self.helps),
            "curves": plain(self.curves),
            "series": None if self.series is None else self.series.to_dict(),
        }

    def sheet(self) -> Sheet:
        """A row for each alternative; where there is none, for each point of the curves, or one with the figures."""
        rows = [*self.alternatives] or [*self._curve_rows()] or [{"epsilon": self.epsilon, **self.accuracy}]
        cells = [{name: float(v) if isinstance(v, Fraction) else v for name, v in row.items()} for row in rows]
        columns = {name: [row.get(name) for row in cells] for name in dict.fromkeys(n for row in cells for n in row)}
        columns = {name: column for name, column in columns.items() if any(cell is not None for cell in column)}
        record = self.to_dict()
        charged = {name: record[name] for name in ("epsilon", "delta", "rho", "confidence")}
        figures = {**charged, **self.settings, **self.accuracy}
        return Sheet(
            title=f"What the {self.release} will be good for",
            brief=self._sentences(self.advice),
            columns=columns,
            numbers=frozenset(n for n, column in columns.items() if not any(isinstance(c, str | bool) for c in column)),
            about={name.replace("_", " "): plain(value) for name, value in figures.items()},
        )

    def _curve_rows(self) -> Iterator[dict[str, Any]]:
        current = {curve.parameter: self._value(curve.parameter) for curve in self.curves}
        for curve in self.curves:
            label = {"of": curve.label} if curve.label else {}
            for place, figure in curve.points:
                yield {**label, **current, curve.parameter: place, curve.figure: figure}

    def _value(self, name: str) -> Any:
        return self.epsilon if name == "epsilon" else self.settings.get(name)

    def plot(self) -> Figure:
        """A panel for each parameter that the figures change with; without curves a bar for each figure."""
        panels = list(dict.fromkeys((curve.figure, curve.parameter) for curve in self.curves))
        figure = new_figure(4 * max(len(panels), 2), 3.4)
        if not panels:
            bars = {name: value for name, value in self.accuracy.items() if isinstance(value, int | float)}
            figure.subplots().barh(list(bars), list(bars.values()), color=_LINES[0][0])
        else:
            for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
                self._draw(axes, *panel)
        return figure  # type: ignore[no-any-return]

    def _draw(self, axes: Any, figure: str, parameter: str) -> None:
        curves = [curve for curve in self.curves if (curve.figure, curve.parameter) == (figure, parameter)]
        for curve, (colour, marker) in zip(curves, itertools.cycle(_LINES)):
            axes.plot(*zip(*curve.points, strict=True), color=colour, marker=marker, markersize=3, label=curve.label)
        current, height = self._value(parameter), self.accuracy.get(figure)
        if current is not None and height is not None:
            axes.plot(float(current), height, "o", color="#222222")
            axes.annotate(_shown(height), (float(current), height), xytext=(6, 4), textcoords="offset points")
        levels = self.levels if figure == self.curves[0].figure else {}
        for name, level in levels.items():
            axes.axhline(level, color="#888888", linestyle="--", linewidth=1, label=name)
        if levels or any(curve.label for curve in curves):
            axes.legend(frameon=False, fontsize=8)
        heights = [height for curve in curves for _, height in curve.points]
        axes.set(xscale="log", yscale="log" if min(heights, default=0) > 0 else "linear", xlabel=parameter)
        axes.set_ylabel(f"{figure.replace('_', ' ')}, {100 * self.confidence:.6g} %")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
        axes.yaxis.set_major_formatter("{x:,g}")
        axes.spines[["top", "right"]].set_visible(False)

    def _sentences(self, *more: str) -> str:
        series = "" if self.series is None else self.series.statement
        return " ".join(filter(None, [self.statement, self.warning, series, *more]))

    def __repr__(self) -> str:
        return f"<Preview: {self._sentences()}>"


def gate_preview(
    calibration: Calibration,
    *,
    threshold: Any = None,
    confidence: float = 0.95,
    at_cutoff: Callable[[int], Calibration] | None = None,
) -> Preview:
    """The preview of a gate, of all questions it was planned for, or as many as its cutoff: over more nothing holds.

    ``at_cutoff`` makes the same gate with another cutoff, or refuses to.
    """
    lattice, budget = calibration.lattice, calibration.budget
    bar = None if threshold is None else lattice.value(lattice.steps(threshold))
    answers = calibration.cutoff if calibration.queries is None else calibration.queries
    margin = lattice.value(calibration.margin(confidence))
    margin_all = lattice.value(calibration.margin(confidence, answers=answers))
    estimator = Estimator.of(calibration.row, calibration.scales)
    error = None if estimator is None else estimator.standard_error * float(lattice.granularity)
    remedy = "a larger epsilon, a smaller cutoff" if calibration.price is None else "a smaller within"
    paid = f"ε = {amount_text(budget.total)}" + (f", δ = {amount_text(budget.delta)}" if budget.delta else "")
    statement = (
        f"{paid}, cutoff {calibration.cutoff:,}: an answer {_shown(margin)} or more from the threshold"
        f"{'' if bar is None else f' {bar:,.15g}'} is right with {100 * confidence:.6g} %; "
        f"any {answers:,} of them at once, {_shown(margin_all)} or more."
    )
    if error is not None:
        statement += f" An ABOVE carries an estimate with a standard error of {_shown(error)}."
    return Preview(
        release="gate",
        epsilon=budget.total,
        delta=budget.delta,
        confidence=confidence,
        accuracy={"margin": margin, "margin_all": margin_all, "answers": answers, "standard_error": error},
        settings={"threshold": bar, "cutoff": calibration.cutoff, "noise": calibration.row.noise.name.lower()},
        statement=statement,
        warning=_warning(margin, error, bar, remedy),
        levels={"threshold": bar} if bar is not None and bar > 0 else {},
        make_curves=partial(_gate_curves, calibration, confidence, at_cutoff),
        cost=gate_cost(calibration),
    )


def _warning(margin: float, error: float | None, threshold: float | None, remedy: str) -> str:
    """What makes a gate at this threshold of little use, and what to do about it: sentences, or nothing."""
    figures = {
        "margin": (margin, "this gate often cannot tell a count at the threshold from 0"),
        "standard error of an estimate": (error, "an estimate says little"),
    }
    reasons = [
        f"The {name}, {_shown(figure)}, is larger than the threshold, {threshold:,.15g}: {so}."
        for name, (figure, so) in figures.items()
        if threshold is not None and figure is not None and figure > threshold
    ]
    return " ".join([*reasons, f"Take {remedy} or a larger threshold."] if reasons else [])


def _gate_curves(
    calibration: Calibration, confidence: float, at_cutoff: Callable[[int], Calibration] | None
) -> Iterator[Curve]:
    """The margin at a tenth to ten times the epsilon and the cutoff, where there is such a gate; none with a delta."""
    if calibration.budget.delta:
        return

    def margins(places: Iterable[Any], make: Callable[[Any], Calibration]) -> Iterator[tuple[float, float]]:
        for place in places:
            with contextlib.suppress(ParameterError):
                other = make(place)
                yield place, other.lattice.value(other.margin(confidence))

    total, cutoff = calibration.budget.total, calibration.cutoff
    points = tuple((float(total * factor), y) for factor, y in margins(FACTORS, partial(_scaled, calibration)))
    yield Curve(figure="margin", parameter="epsilon", points=points)
    if at_cutoff is not None:
        cutoffs = sorted({max(1, round(cutoff * factor)) for factor in _CUTOFF_FACTORS})
        other = at_cutoff
        points = tuple(margins(cutoffs, lambda place: calibration if place == cutoff else other(place)))
        yield Curve(figure="margin", parameter="cutoff", points=points)


def epsilon_within(within: object, *, confidence: float, make: Callable[..., Calibration]) -> Fraction:
    """The least epsilon, of three digits, whose gate has a margin of at most ``within``."""
    wanted, at_one = exact_number(within), make(epsilon=Fraction(1))
    if wanted is None or wanted < at_one.lattice.granularity:
        rule = f"must be a number of at least {float(at_one.lattice.granularity):g}, the least margin of all"
        raise ParameterError("within", rule, within, "pass for instance within=100")
    steps = math.floor(wanted / at_one.lattice.granularity)

    def enough(epsilon: Fraction) -> bool:  # a plan of its own is rounded in its last digits
        scaled = _scaled(at_one, epsilon)
        return scaled.margin(confidence) <= steps and make(epsilon=epsilon).margin(confidence) <= steps

    least = least_epsilon(enough)
    if least is None:
        raise ParameterError("within", "must be the margin of an epsilon below 100,000", within, "ask for a wider one")
    return least


def least_epsilon(enough: Callable[[Fraction], bool]) -> Fraction | None:
    """The smallest decimal of three digits that is enough, between 1e-9 and 1e5; None where none is."""

    def works(epsilon: Fraction) -> bool:
        try:
            return enough(epsilon)
        except ParameterError:  # an epsilon that no noise can be made for
            return False

    first = first_decimal(works, -9, 5)
    return decimal(first) if first < 900 * 5 else None


def _scaled(calibration: Calibration, factor: Fraction) -> Calibration:
    """The same gate at this many times its epsilon."""
    return calibration.with_scales(
        Scales(*(None if s is None else exact_scale(s / factor) for s in calibration.scales))
    )


def figure_text(figure: float) -> str:
    """A whole number in full, another with six digits."""
    return f"{figure:,}" if isinstance(figure, int) else f"{figure:,.6g}"


def _shown(error: float) -> str:
    """With three digits at least, and rounded up from a hundred on: an error is not told smaller than it is."""
    return f"{math.ceil(error):,}" if error >= 100 else f"{error:.3g}"


_P = ParamSpec("_P")


@overload
def previews(
    made: Callable[Concatenate[Any, _P], object],
) -> Callable[[Callable[..., Preview]], Callable[_P, Preview]]: ...
@overload
def previews(
    made: Callable[..., object], **defaults: Any
) -> Callable[[Callable[..., Preview]], Callable[..., Preview]]: ...
def previews(made: Callable[..., object], **defaults: Any) -> Callable[..., Any]:
    """Give a preview the parameters of the method ``made`` that it previews: it is called with all of them, by name.

    Those that were left out have their defaults, which ``defaults`` changes, or adds parameters with theirs.
    ``inspect.signature`` shows every parameter.
    """
    _, *of_made = inspect.signature(made).parameters.values()
    named = {parameter.name: parameter for parameter in of_made}
    for name, default in defaults.items():
        parameter = named.get(name, inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY))
        named[name] = parameter.replace(default=default)
    signature = inspect.Signature([*named.values()], return_annotation=Preview)

    def with_parameters(preview: Callable[..., Preview]) -> Callable[..., Preview]:
        @wraps(preview)
        def called(*args: Any, **kwargs: Any) -> Preview:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{preview.__qualname__}() {error}") from None
            bound.apply_defaults()
            return preview(**bound.arguments)

        called.__signature__ = signature  # type: ignore[attr-defined]
        return called

    return with_parameters
