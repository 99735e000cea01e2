"""Gates side by side on public cells: one for each city, shop or device, each with its own threshold noise and cutoff.

A cell is a public label, and a question about a cell is a function of the people in that cell alone: one person more or
less moves it by at most Delta if they are in the cell, and not at all if they are not. Each person is in at most m
cells. That is a promise, or a cut by a rule that looks at that person alone (their first m cells, say).

**Theorem.** With a gate of epsilon/m for each cell, everything that all gates say together is epsilon-DP and
(epsilon**2 / (2 m))-zCDP: for any number of cells, and of questions that are chosen, across cells too, with all earlier
answers in view. A transcript costs at most the sum of the m largest L(b, a) over the cells, where the gate of a cell
has said b BELOW and a ABOVE: ``spent``. *Proof*, in docs/explanation/theory.md: the ratio of the probabilities of a
transcript is a product over cells, of which at most m factors are not 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal

from sparsegate.budget import Allocation, Charge, Cost, Number, Spender, charge, check_truth, exact_count, exact_epsilon
from sparsegate.display.plain import amount_text
from sparsegate.errors import GateClosed, ParameterError
from sparsegate.gates.calibration import trusted_source
from sparsegate.gates.gate import Answer, Gate, Paid, read_threshold_noise, threshold_noise
from sparsegate.gates.planning import NoiseName
from sparsegate.gates.preview import Curve, Preview, previews
from sparsegate.gates.sparse_vector import SparseVector, gate_calibration, gate_numbers
from sparsegate.noise import Source
from sparsegate.noise.own_settings import own_settings
from sparsegate.noise.sources import MARK

_MOST_CELLS = 10**7
_CLOSED = "the gates of all cells were closed together"


class Gates(Paid):
    """A gate for each of many public cells, at one price: epsilon for all, whatever is asked of whichever cell.

    **Theorem.** If each person is in at most m cells, gates of epsilon/m side by side are epsilon-DP together
    (``gates.cells``). Which cells there are, and which of them are asked, must not depend on the data: ask all of them,
    or choose by what was released. A gate is made when its cell is first asked.

    Parameters
    ----------
    cells : the PUBLIC labels, or a number n for the cells 0 to n - 1.
    cells_per_user : m, in how many cells a person counts at most. It is your promise: cut people who are in more.
    epsilon : the privacy loss of all cells together; each gate has epsilon/m.
    threshold, cutoff, sensitivity, monotonic, allocation, queries, noise, closes, granularity : of each cell's gate, as
        of a ``SparseVector``.
    ledger : where the whole epsilon is charged, once, before anything is drawn; a zCDP ledger, that of m parts
        (``budget.pure_rho``), less than epsilon**2 / (2 m).
    refund : ``close`` gives back what the answers did not cost.
    source, not_private : as of a ``SparseVector``.

    >>> import sparsegate as sg
    >>> gates = sg.Gates(cells=["Berlin", "Paris", "Rome"], cells_per_user=2, threshold=100, cutoff=1, epsilon=1,
    ...                  sensitivity=1, monotonic=True, source=sg.Seeded(7), not_private=True)
    >>> bool(gates.ask("Paris", 21)), bool(gates.ask("Rome", 307))
    (False, True)
    >>> gates["Rome"].closed, gates["Paris"].remaining, gates
    (True, 1, <Gates: 3 cells, 2 asked, 1 positives, open>)
    """

    _uncopied = "gates can be neither copied nor pickled: two copies would answer with the same noise; make new ones"

    @own_settings
    def __init__(
        self,
        *,
        cells: Iterable[Hashable] | int,
        cells_per_user: int,
        threshold: Number,
        cutoff: int,
        sensitivity: Number,
        epsilon: Number,
        allocation: Allocation | None = None,
        monotonic: bool = False,
        queries: int | None = None,
        noise: NoiseName = "auto",
        closes: Literal["above", "rarer"] = "above",
        granularity: Number | None = None,
        ledger: Spender | None = None,
        refund: bool = True,
        source: Source | None = None,
        not_private: bool = False,
    ) -> None:
        of_each = gate_numbers(locals())
        self._cells = public_cells(cells)
        self.epsilon = exact_epsilon(epsilon)
        self.cells_per_user = most_cells(cells_per_user, len(self._cells))
        calibration = gate_calibration(**of_each | {"epsilon": self.epsilon / self.cells_per_user})
        calibration.lattice.steps(threshold, "threshold")
        check_truth(refund, "refund")
        source = trusted_source(source, not_private)
        self._gates: dict[Hashable, SparseVector] = {}
        self._stopped = False
        charged = charge(
            ledger,
            **vars(Cost.of(self.epsilon, parts=self.cells_per_user)),
            what=f"gates on {len(self._cells)} cells, {self.cells_per_user} of a person at most: "
            f"threshold {threshold}, cutoff {calibration.cutoff} of each, {calibration.row.key}",
        )
        self._charges: list[Charge] = [charged] if refund and not not_private else []
        self._first = Gate(calibration, threshold=threshold, source=source, not_private=not_private)

    @staticmethod
    @previews(__init__, threshold=None, epsilon=None, within=None, confidence=0.95)
    def preview(
        *, cells: object, cells_per_user: int, cutoff: int, confidence: float, queries: int | None, **of_each: Any
    ) -> Preview:
        """What gates with these parameters would be good for: nothing is drawn, charged or looked at.

        The parameters are those of ``Gates``, and ``within`` and ``confidence`` those of ``SparseVector.preview``.
        ``margin`` is for one answer; with ``margin_all`` one answer of each cell (or all ``queries`` of each) is right
        at once, by the theorem of ``gates.calibration``.

        >>> import sparsegate as sg
        >>> asked = {"threshold": 100, "cutoff": 1, "sensitivity": 1, "monotonic": True}
        >>> preview = sg.Gates.preview(cells=10_000, cells_per_user=3, epsilon=1, **asked)
        >>> preview.margin, preview.margin_all
        (15, 74)
        >>> sg.Gates.preview(cells=10_000, cells_per_user=3, within=30, **asked).epsilon
        Fraction(471, 1000)
        """
        number = len(public_cells(cells))
        most = most_cells(cells_per_user, number)
        epsilon = of_each["epsilon"]
        if epsilon is None and of_each["within"] is None:
            rule = "must be given, or within for the epsilon that is needed"
            raise ParameterError("epsilon", rule, next_step="pass for instance epsilon=0.5")
        of_each |= {"epsilon": None if epsilon is None else exact_epsilon(epsilon) / most}
        of_each |= {"cutoff": cutoff, "queries": queries}
        single = SparseVector.preview(**of_each, confidence=confidence)
        answers = number * (queries or 1)
        of_each |= {"threshold": of_each["threshold"] or 0, "epsilon": single.epsilon, "within": None}
        calibration = gate_calibration(**gate_numbers(of_each))
        together = calibration.lattice.value(calibration.margin(confidence, answers=answers))
        bar = "" if single.threshold is None else f" {single.threshold:,.15g}"
        total = most * single.epsilon

        def curves() -> Iterator[Curve]:
            for curve in single.curves:
                wider = most if curve.parameter == "epsilon" else 1
                yield replace(curve, points=tuple((wider * place, height) for place, height in curve.points))

        return replace(
            single,
            release="gates",
            epsilon=total,
            accuracy={**single.accuracy, "margin_all": together, "answers": answers},
            settings={**single.settings, "cells": number, "cells_per_user": most},
            statement=f"ε = {amount_text(total)} for {number:,} cells, a person in {most:,} of them at most, cutoff "
            f"{cutoff:,} of each: an answer {single.margin:,.15g} or more from the threshold{bar} is right with "
            f"{100 * confidence:.6g} %; {answers:,} of them at once, over all cells, {together:,.15g} or more.",
            make_curves=curves,
            cost=Cost.of(total, parts=most),
            cost_at=partial(Cost.of, parts=most),
        )

    @property
    def cells(self) -> tuple[Hashable, ...] | range:
        """The public cells, in the order in which they were listed."""
        return self._cells if isinstance(self._cells, range) else tuple(self._cells)

    def __getitem__(self, cell: Hashable) -> SparseVector:
        """The gate of a cell, to be asked and read: made when it is first needed. An unknown cell is refused."""
        if not is_cell(self._cells, cell):  # a label that is not on the list may come from data: it is not repeated
            rule = f"must be one of the {len(self._cells):,} public cells"
            raise ParameterError("cell", rule, next_step="ask about a cell of the list that the gates were made with")
        # What equals a number may have another hash, as a tensor does: it must not have a gate of its own.
        place = self._cells[self._cells.index(cell)] if isinstance(self._cells, range) else cell  # type: ignore[arg-type]
        if (gate := self._gates.get(place)) is not None:
            return gate
        if self._first._born != MARK[0]:  # before the lock: a fork may have left it held for ever
            self._first._refuse()
        with self._first._lock:
            if self._stopped:
                raise GateClosed(f"this gate is closed: {_CLOSED}; make new ones to ask on, which spend a new budget")
            return self._gates.setdefault(place, _beside(self._first))

    @own_settings
    def ask(self, cell: Hashable, answer: Any, *, threshold: Any = None) -> Answer:
        """Is the answer of this cell above its threshold? An unknown cell is refused, and nothing is drawn.

        ``answer`` is the true, private answer, of the people in this cell alone; see ``SparseVector.ask``.
        """
        return self[cell].ask(answer, threshold=threshold)

    @own_settings
    def ask_all(self, answers: Mapping[Any, Any]) -> dict[Hashable, Answer]:
        """Ask every cell whose gate is open, in the order of the list; a cell without an answer has 0.

        Which cells are answered for follows from the public list and from earlier answers, whatever the mapping holds:
        labels in it that are no cell are left out. All is checked before anything is drawn.
        """
        if not isinstance(answers, Mapping):
            rule = "must be a mapping from cells to their answers"
            raise ParameterError("answers", rule, next_step='pass for instance {"Berlin": 812}')
        private = {cell: answers.get(cell, 0) for cell in self._cells}
        for answer in private.values():
            self._first._calibration.lattice.private_steps(answer, "answers")
        asked = {}
        for cell, answer in private.items():
            gate = self[cell]
            with suppress(GateClosed):
                asked[cell] = gate.ask(answer)
        return asked

    @property
    def positives(self) -> int:
        """How many ABOVE were given, over all cells."""
        return sum(gate.positives for gate in list(self._gates.values()))

    @property
    def spent(self) -> Fraction:
        """What the answers so far have cost, exactly: the sum of the ``cells_per_user`` largest costs of a cell."""
        # In the child of a fork the lock may be held for ever.
        with self._first._lock if self._first._born == MARK[0] else nullcontext():
            return self._cost()

    def _cost(self) -> Fraction:
        # Many cells have said as much as one another: that is priced once.
        made = {gate: (gate._drawing, gate._asked, gate._positives) for gate in list(self._gates.values())}
        alike, costs = Counter(made.values()), {state: gate._cost() for gate, state in made.items()}
        return largest(((cost, alike[state]) for state, cost in costs.items()), self.cells_per_user)

    @property
    def closed(self) -> bool:
        """Whether no cell will be answered for any more, because they were closed together, or in another process."""
        return self._stopped or self._first.closed

    def close(self) -> None:
        """Stop answering for all cells, and give back to the ledger what the answers did not cost, once."""
        if self._first._born != MARK[0]:
            return
        with self._first._lock:  # it is that of all gates: none of them is answering
            self._stopped = True
            for gate in list(self._gates.values()):
                gate._closed = gate._closed or _CLOSED
            unused = self.epsilon - self._cost()
        self._give_back(unused)

    def __repr__(self) -> str:
        counts = f"{len(self._cells):,} cells, {len(self._gates):,} asked, {self.positives:,} positives"
        return f"<Gates: {counts}, {'closed' if self.closed else 'open'}>"


def _beside(first: Gate) -> SparseVector:
    """A gate with the public numbers of the first, and threshold noise of its own.

    All gates share one lock and one reservoir of query noise: each draw is given to one question alone.
    """
    gate = SparseVector.__new__(SparseVector)
    for name, value in vars(first).items():
        setattr(gate, name, value)
    gate._asked = gate._positives = 0
    gate._closed, gate._drawing, gate._charges, gate._redraws = "", False, [], []
    gate._rho = gate._draw_rho()
    return gate


def threshold_noises(gates: Gates) -> bytes:
    """The threshold noise of every cell, in the order of the list: a gate is made for each, whatever was asked."""
    return b"".join(threshold_noise(gates[cell]) for cell in gates.cells)


def resume_cells(secret: bytes, *, asked: int, answered: Mapping[Any, tuple[int, int]], **public: Any) -> Gates:
    """The gates that ``Gates(**public)`` made, going on after every cell was ``asked`` so often and never was ABOVE.

    For cells in ``answered`` these are the numbers of questions and of positives instead; see ``gates.gate.resume``.
    """
    number = len(public_cells(public["cells"]))
    size, rest = divmod(len(secret), number)
    pieces = [read_threshold_noise(secret[place * size : (place + 1) * size]) for place in range(number)]
    if rest or len({law for _, law in pieces}) > 1:
        raise ParameterError("cells", "must be those that the gates were made with", number)
    gates = Gates(**{**public, "noise": pieces[0][1].name.lower()})
    for cell, (rho, _) in zip(gates.cells, pieces, strict=True):
        gate = gates[cell]
        gate._rho = rho
        gate._count(*answered.get(cell, (asked, 0)))
    return gates


def largest(costs: Iterable[tuple[Fraction, int]], most: int) -> Fraction:
    """The sum of the ``most`` largest costs, each of which so many cells have."""
    left, total = most, Fraction(0)
    for cost, cells in sorted(costs, reverse=True):
        times = min(left, cells)
        left, total = left - times, total + times * cost
    return total


def most_cells(cells_per_user: object, cells: int) -> int:
    """In how many cells a person is at most: nobody is in more than there are."""
    return min(exact_count(cells_per_user, "cells_per_user"), cells)


def public_cells(cells: object) -> dict[Hashable, None] | range:
    """The labels, each once, in their order; a number n stands for 0 to n - 1."""
    rule, step = "must be public labels, each once, or their number", 'pass for instance cells=["Berlin", "Paris"]'
    if isinstance(cells, int) and not isinstance(cells, bool):
        return range(exact_count(cells, "cells", most=_MOST_CELLS))
    if not isinstance(cells, Iterable) or isinstance(cells, str | bytes | Mapping):
        raise ParameterError("cells", rule, cells, step)
    try:
        labels = cells.tolist() if hasattr(cells, "tolist") else list(cells)  # numbers of numpy as those of Python
        listed: dict[Hashable, None] = dict.fromkeys(labels)
    except TypeError:  # what has no hash
        raise ParameterError("cells", rule, next_step=step) from None
    if not listed or len(listed) < len(labels) or any(label != label for label in listed):
        raise ParameterError("cells", rule, len(labels), step)
    return listed


def is_cell(cells: Container[Hashable], cell: Any) -> bool:
    """Whether it is on the list; what has no hash, or will not be compared, is not."""
    try:
        return cell in cells
    except Exception:
        return False
