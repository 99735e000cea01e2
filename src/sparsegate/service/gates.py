"""A gate as a service keeps it: a state machine without any input or output.

An ask goes through two commits, whatever it answers: intend, draw, settle; and a third, void, if it fails or is late.
What is lost has no outcome for ever: it counts as an ABOVE for the cutoff (of a gate that closes by the "rarer" answer
as that one: ``Tally.remaining``), and as whichever costs more for what goes back (``ledger.gate``). **Theorems**, for
all interleavings, crashes and repeats:

- A gate says ABOVE at most c times; what it has released is a prefix-closed part of a transcript of ``SparseVector``.
- A gate **without a cutoff** (``gates.per_above``) is charged for each ABOVE before noise is drawn for a question that
  may be it; a charge goes back only if no question that could be an ABOVE has it. ``paid`` counts those charges.
- Gates **for each cell** of a column (``per``), of epsilon/m each, where a person counts in at most m cells, are
  epsilon-DP together, and cost at most the sum of the m largest costs of a cell; on a zCDP ledger the rho of m parts.

Proofs: docs/explanation/proofs_in_words/ledger.md
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, NamedTuple

from sparsegate.budget import Cost
from sparsegate.errors import GateBusy, GateClosed, ParameterError, SparsegateError
from sparsegate.gates.accounting import gate_cost
from sparsegate.gates.calibration import Calibration
from sparsegate.gates.cells import largest
from sparsegate.gates.per_above import Price, per_above_preview
from sparsegate.gates.planning import check_plan_work
from sparsegate.gates.preview import Preview, gate_preview
from sparsegate.gates.sparse_vector import gate_calibration
from sparsegate.ledger.account import Amount, Statement, exact_amount, exact_text, exact_value
from sparsegate.ledger.gate import AnswerCounts, rounded_down

CONFIDENCE: Final = 0.95
MOST_ASKS: Final = 1_000_000
MOST_CELLS: Final = 10_000
"""Of one gate: what an answer has cost is added up over all that were asked about, under the write lock, within D."""
MOST_PLANNED: Final = 20_000  # positives of a gate that is planned for a number of questions
MOST_PREVIEWED: Final = 1_000

ADDS: Final = "this ledger adds epsilons, and only a zCDP ledger pays for each ABOVE"

LONGEST_NAME: Final = 100
LONGEST_DESCRIPTION: Final = 1000


@dataclass(frozen=True, kw_only=True)
class GateSpec:
    """What a gate was opened with; all of it is public.

    ``epsilon`` is what it was charged when it was opened, and ``above``, without a cutoff, the pure loss of an ABOVE;
    0 and None: not known yet. It admits ``most_asks``. ``per`` is a column whose values have a gate each.
    """

    threshold: int
    cutoff: int | None = None
    epsilon: Fraction = Fraction(0)
    queries: int | None = None
    noise: str = "auto"
    closes: str = "above"
    most_asks: int | None = None
    within: Fraction | None = None
    expect: int | None = None
    above: Fraction | None = None
    per: str | None = None
    cells_per_user: int | None = None

    @classmethod
    def of(cls, **numbers: Any) -> GateSpec:
        """From numbers of which some may be None: those are left out."""
        return cls(**{name: value for name, value in numbers.items() if value is not None})

    @property
    def price(self) -> Price | None:
        """What its opening and each ABOVE cost, where each is paid for."""
        return None if self.above is None else Price(opening=self.epsilon, above=self.above)

    @property
    def opening(self) -> Amount:
        """What a ledger is charged when it is opened: in rho the least that is proved."""
        if self.price is not None:
            rho = self.price.opening_rho
        elif self.cells_per_user is not None:
            rho = Cost.of(self.epsilon, parts=self.cells_per_user).rho
        else:
            rho = gate_cost(_law(_noise_of(self))).rho
        return exact_amount(self.epsilon, 0, rho)

    @property
    def of_cell(self) -> GateSpec:
        """The gate of one cell."""
        return replace(self, per=None, most_asks=None)

    @property
    def each(self) -> Amount:
        """What a ledger is charged for an ABOVE, where each is paid for."""
        assert self.price is not None
        return exact_amount(self.price.above, 0, self.price.above_rho)

    def priced(self) -> GateSpec:
        """With the law of its noise and its costs, which it keeps, whatever a later version would choose."""
        public = law(self)
        spec = replace(self, noise=public.row.noise.name.lower())
        if (price := public.price) is None:
            return spec
        return replace(spec, epsilon=price.opening, above=price.above, expect=public.cutoff)

    def terms(self) -> dict[str, Any]:
        """The numbers as JSON takes them; those of gates without a cutoff, or for cells, where it is one."""
        terms = asdict(self) | {
            name: exact_text(value) for name in _EXACT if (value := getattr(self, name)) is not None
        }
        return {name: value for name, value in terms.items() if value is not None or name not in _METERED}

    @staticmethod
    @lru_cache(maxsize=1024)
    def read(terms: str) -> GateSpec:
        """The spec that the row of a gate holds."""
        held = json.loads(terms)
        return GateSpec(**held | {name: exact_value(held[name]) for name in _EXACT if name in held})


_EXACT: Final = ("epsilon", "within", "above")
_METERED: Final = ("within", "expect", "above", "per", "cells_per_user")


@dataclass(frozen=True, kw_only=True)
class Tally(AnswerCounts):
    """Where a gate stands. ``because`` says why it was closed by hand or by a fault; empty: it was not."""

    spec: GateSpec
    because: str = ""
    paid: int = 0
    """Without a cutoff: for how many ABOVE the ledger was charged."""
    cells: tuple[tuple[AnswerCounts, int], ...] = ()
    """With a gate for each cell: how many cells have which counts; the tally's own are the sums."""
    cell: Tally | None = None
    """That of the cell that is asked about."""

    @property
    def unpaid(self) -> int:
        """How many ABOVE must be paid for before it may be asked again; always 0 of a gate with a cutoff."""
        return 0 if self.spec.cutoff is not None else max(self.positives + 1 - self.paid, 0)

    @property
    def positives(self) -> int:
        """What counts as ABOVE."""
        return self.above + self.unsettled

    @property
    def remaining(self) -> int | None:
        """How many ABOVE the gate may still give; of a two-sided gate, how many of the rarer answer.

        None without a cutoff: as many as the ledger pays for. With a gate for each cell it is that of the cell.
        """
        if self.spec.per is not None:
            return None if self.cell is None else self.cell.remaining
        if self.spec.cutoff is None:
            return None
        if self.spec.closes == "rarer":
            # The most that the rarer one can be, whatever became of the asks without an outcome.
            lost = self.unsettled
            return self.spec.cutoff - min(self.asked // 2, self.below + lost, self.above + lost)
        return self.spec.cutoff - self.positives

    @property
    def left(self) -> int | None:
        """``remaining``, and never less than 0."""
        return None if self.remaining is None else max(self.remaining, 0)

    @property
    def closed(self) -> str:
        """Why the gate is closed; empty: it is open."""
        if self.because:
            return self.because
        if self.cell is not None and self.cell.closed:
            return f"of this cell {self.cell.closed}"
        if self.spec.per is None and self.remaining is not None and self.remaining <= 0:
            if self.spec.closes == "rarer":
                return f"both answers are given or lost {self.spec.cutoff} times"
            return f"all {self.spec.cutoff} of its positive answers are given or lost"
        if self.spec.per is None and self.spec.queries is not None and self.asked >= self.spec.queries:
            return f"all {self.spec.queries} questions it was planned for have been asked"
        if self.spec.most_asks is not None and self.asked >= self.spec.most_asks:
            return f"it was asked {self.spec.most_asks} questions, the most that the service keeps of one gate"
        return ""

    def require_open(self) -> None:
        """Raise ``GateClosed`` where it is closed."""
        if self.closed:
            raise GateClosed(f"this gate is closed: {self.closed}; open another, which spends a new budget")

    def intend(self) -> Tally:
        """Where the gate stands with one ask more, if it admits one."""
        self.require_open()
        if self.unpaid:  # another ask has what was paid for
            raise GateBusy
        return replace(self, asked=self.asked + 1, cell=None if self.cell is None else self.cell.intend())

    def settle(self, *, above: bool) -> Tally:
        """Where the gate stands with the outcome of an ask that was intended."""
        if not self.unsettled:
            raise SparsegateError("an ask must be intended before it is settled")
        cell = None if self.cell is None else self.cell.settle(above=above)
        return replace(self, above=self.above + above, below=self.below + (not above), cell=cell)

    def void(self, above: bool | None) -> Tally:
        """Where the gate stands when the outcome of an ask is taken back; None: it has none."""
        cell = None if self.cell is None else self.cell.void(above)
        return replace(self, above=self.above - (above is True), below=self.below - (above is False), cell=cell)


@dataclass(frozen=True, kw_only=True)
class GateLabel:
    """What people call a gate, and who opened it: the number of a token, and its name; None: nobody noted it."""

    name: str = ""
    description: str = ""
    token: int | None = None
    opened_by: str | None = None

    def __post_init__(self) -> None:
        for field, most, lines in (("name", LONGEST_NAME, " in one line"), ("description", LONGEST_DESCRIPTION, "")):
            text = getattr(self, field)
            seen = text if lines or not isinstance(text, str) else text.replace("\n", "")
            if not (isinstance(seen, str) and len(text) <= most and seen.isprintable()):
                rule = f"must be at most {most} printable characters{lines}"
                raise ParameterError(field, rule, next_step="leave out what does not show, and what is too long")


@dataclass(frozen=True, kw_only=True)
class GateRow:
    """A gate as stored. ``number`` is that of its entry, ``sealed`` its threshold noise, encrypted."""

    number: int
    id: str
    opened_at: str
    fingerprint: str
    sealed: bytes
    tally: Tally
    refund: bool = True
    given_back: Fraction = Fraction(0)
    label: GateLabel = GateLabel()
    cell: str | None = None
    """The cell that is asked about, as JSON; None: there is one gate, or it is looked at as a whole."""

    def __repr__(self) -> str:
        return f"<GateRow {self.id}>"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """An ask that was written. ``above`` is None where it has no outcome; ``lasts``: how long it took to leave."""

    number: int
    at: str
    condition: str
    above: bool | None
    estimate: int | None = None
    token: int = 0
    by: str | None = None
    lasts: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Answered:
    """The answer to one ask: public, and stored before it is given."""

    gate: str
    number: int
    above: bool
    remaining: int | None
    closed: bool
    estimate: int | None = None
    standard_error: float | None = None
    spent: str = "0"
    practice: bool = False


@dataclass(frozen=True, kw_only=True)
class KeyedRequest:
    """Who asks (the number of a token, and its name), under which idempotency key; ``body`` digests what is asked."""

    token: int
    key: str
    body: str = ""
    by: str | None = None

    def bound_to(self, body: Mapping[str, Any]) -> KeyedRequest:
        """The same key with another body is another request."""
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), default=str)  # a Decimal as its digits
        return replace(self, body=hashlib.sha256(text.encode()).hexdigest())


def gate_view(gate: GateRow) -> dict[str, Any]:
    """A gate as everybody may see it."""
    tally, spec = gate.tally, gate.tally.spec
    whole, spent = charged(tally), charged(tally) - unused(tally)
    terms = {name: value for name, value in spec.terms().items() if name not in ("most_asks", "above")}
    return {
        "id": gate.id,
        "name": gate.label.name,
        "description": gate.label.description,
        "opened_by": gate.label.opened_by,
        **dict.fromkeys(("within", "expect", "per", "cells_per_user")),
        **terms,
        "epsilon": exact_text(whole),
        **_rhos(spec),
        **accuracy(spec)._asdict(),
        "confidence": CONFIDENCE,
        "asked": tally.asked,
        "positives": tally.positives,
        "lost": tally.unsettled,
        "remaining": tally.left,
        "closed": bool(tally.closed),
        "because": tally.closed or None,
        "opened_at": gate.opened_at,
        "spent": exact_text(spent),
        "given_back": exact_text(gate.given_back),
        "reserved": exact_text(max(whole - spent - gate.given_back, Fraction(0))),
    }


def _rhos(spec: GateSpec) -> dict[str, str | None]:
    price = spec.price
    rhos = {} if price is None else {"opening_rho": price.opening_rho, "above_rho": price.above_rho}
    return dict.fromkeys(("opening_rho", "above_rho")) | {name: exact_text(rho) for name, rho in rhos.items()}


def preview_view(spec: GateSpec, statement: Statement | None, *, rule: str = "epsilon") -> dict[str, Any]:
    """What a gate would be good for that is not opened; ``statement``, if told, and ``rule`` are the ledger's."""
    check_work(spec, MOST_PREVIEWED)
    spec = spec if spec.cutoff is not None else spec.priced()
    preview, amount = _preview(spec), spec.opening
    warnings, left = [preview.warning], None if statement is None else statement.remaining
    if spec.cutoff is None:
        amount += spec.each
        warnings += [] if rule == "zcdp" else [f"It would be refused: {ADDS}."]
    if statement is not None and left is not None and not statement.balance.covers(left, amount):
        warnings.append(f"It costs more than the {statement.says(left)} that the ledger has left: it would be refused.")
    same = ("confidence", "margin", "margin_all", "standard_error", "noise")
    return {name: getattr(preview, name) for name in same} | {
        "cost": exact_text(amount.epsilon),
        "rho": exact_text(amount.rho or Fraction(0)),
        **_rhos(spec),
        "remaining": None if left is None else exact_text(left.epsilon),
        "remaining_rho": None if left is None or left.rho is None else exact_text(left.rho),
        "warning": " ".join(filter(None, warnings)) or None,
        "curve": [
            {"epsilon": epsilon * (spec.cells_per_user or 1), "margin": margin}
            for epsilon, margin in preview.points("epsilon")
        ],
        "by_cutoff": [{"cutoff": cutoff, "margin": margin} for cutoff, margin in preview.points("cutoff")],
    }


@lru_cache(maxsize=64)
def _preview(spec: GateSpec) -> Preview:
    if spec.cutoff is None:
        return per_above_preview(law(spec), threshold=spec.threshold, confidence=CONFIDENCE)

    def at_cutoff(cutoff: int) -> Calibration:
        other = replace(spec, cutoff=cutoff)
        check_work(other, MOST_PREVIEWED)
        return law(other)

    return gate_preview(law(spec), threshold=spec.threshold, confidence=CONFIDENCE, at_cutoff=at_cutoff)


class Accuracy(NamedTuple):
    """How far the answers of a gate can be trusted, in people: see ``Preview``."""

    margin: float
    margin_all: float
    standard_error: float | None


def accuracy(spec: GateSpec) -> Accuracy:
    """From the law of the noise, not from any gate's noise. It takes milliseconds once, and is then remembered."""
    return _accuracy(_noise_of(spec))


@lru_cache(maxsize=2**16)
def _accuracy(spec: GateSpec) -> Accuracy:
    preview = gate_preview(_law(spec), confidence=CONFIDENCE)
    return Accuracy(preview.margin, preview.margin_all, preview.standard_error)


def law(spec: GateSpec) -> Calibration:
    """Everything public about the gate's noise; raises what is wrong with its parameters, and draws nothing."""
    return gate_calibration(**parameters(spec))


_law: Final = lru_cache(maxsize=2**14)(law)


def _noise_of(spec: GateSpec) -> GateSpec:
    """The spec of all gates with the same noise: where its threshold lies is no part of that."""
    return replace(spec, threshold=0, most_asks=None, per=None)


def check_work(spec: GateSpec, most: int = MOST_PLANNED) -> None:
    """Refuse a plan that would take minutes and all the memory of the machine."""
    if spec.cutoff is not None:
        check_plan_work(cutoff=spec.cutoff, queries=spec.queries, most=most)


def cost(tally: Tally) -> Fraction:
    """What a gate has cost (``AnswerCounts.cost``); of gates for cells the sum of the m largest."""
    spec = _noise_of(tally.spec)
    if tally.spec.per is not None:
        return largest(((_cost(spec, counts), cells) for counts, cells in tally.cells), spec.cells_per_user or 1)
    return _cost(spec, AnswerCounts(asked=tally.asked, above=tally.above, below=tally.below))


@lru_cache(maxsize=2**15)
def _cost(spec: GateSpec, counts: AnswerCounts) -> Fraction:
    public = _law(spec)
    return counts.cost(lambda below, above: public.spent([(below, above)]))


def charged(tally: Tally) -> Fraction:
    """What a ledger was charged for a gate so far, in epsilon."""
    return tally.spec.epsilon + tally.paid * (tally.spec.above or 0)


def unused(tally: Tally) -> Fraction:
    """What a gate would give back if it were closed now: no more than its epsilon less its cost.

    Without a cutoff it is the charge for its next ABOVE. Machine-checked, for gates with one: proofs/README.md.
    """
    if tally.spec.above is not None:
        return (tally.paid > tally.positives) * tally.spec.above
    return rounded_down(tally.spec.epsilon - cost(tally))


def noise_context(dataset: str, unit: str, id: str, spec: GateSpec) -> str:
    """What the sealed noise of a gate belongs to: noise of one gate is none for another."""
    metered = "" if spec.above is None else f" {exact_text(spec.above)}"
    cells = "" if spec.per is None else f" {spec.cells_per_user} {spec.per}"
    public = f"{spec.threshold} {spec.cutoff} {exact_text(spec.epsilon)} {spec.queries}{metered}{cells}"
    return f"{dataset}\n{unit}\n{id}\n{public}"


def parameters(spec: GateSpec) -> dict[str, Any]:
    """A count of people: one person moves it by at most one, and all such counts in one direction."""
    own = ("most_asks", "above", "per", "cells_per_user")
    public = {name: value for name, value in vars(spec).items() if name not in own}
    if spec.above is not None or not spec.epsilon:
        public["epsilon"] = None
    elif spec.cells_per_user is not None:
        public["epsilon"] = spec.epsilon / spec.cells_per_user
    return public | {"sensitivity": 1, "monotonic": True}
