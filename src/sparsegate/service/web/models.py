"""What travels: bodies that may be posted, and what is answered; each field with its meaning and an example.

Bodies are strict JSON. An exact number, an epsilon or a delta, travels as a decimal in text.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any, Final, Literal

from fastapi import Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from sparsegate.budget import exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.selection.select import AUTO, METHODS, describe_methods
from sparsegate.service import gates
from sparsegate.service.gate_store import PAGE
from sparsegate.service.tokens import LONGEST_NAME


def means(meaning: str, *example: Any, **rules: Any) -> Any:
    """A field with its meaning, and an example of it where it has no fields of its own."""
    return Field(description=meaning, examples=[*example] or None, **rules)


class Posted(BaseModel):
    """A body that is asked: no cast from one type to another, and no field that is not known."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


Limit = Annotated[int, Query(ge=1, le=PAGE, description="The most on one page.")]

MOST_THRESHOLD: Final = 23 * 10**17
"""A little less than what a lattice carries, 2**61: a description has floats, and this one is exact in decimals."""

MOST_WHOLE: Final = 2**31 - 1  # the largest cutoff, and the most questions: what the ledger can count in every database

_DECIMAL: Final = "^[0-9]{1,12}([.][0-9]{1,100})?$"


def _exact(value: object) -> Fraction:
    """A decimal in text, or a JSON number, which stands for the decimal that it prints as."""
    try:
        if isinstance(value, str) and re.fullmatch(_DECIMAL, value, re.ASCII):
            return Fraction(value)
        if isinstance(value, int | float):
            return exact_epsilon(value, zero=True)
    except ParameterError:
        pass
    raise PydanticCustomError("decimal", 'must be a decimal in text, such as "0.5", or a number of at least 0')


_TEXT: Final[dict[str, Any]] = {"type": "string", "pattern": _DECIMAL}
Exact = Annotated[Any, BeforeValidator(_exact), WithJsonSchema({"anyOf": [_TEXT, {"type": "number", "minimum": 0}]})]
"""An exact number of at least 0."""


def _positive(value: Fraction) -> Fraction:
    if not value:
        raise PydanticCustomError("positive", 'must be larger than 0; send for instance "0.5"')
    return value


Positive = Annotated[
    Any,
    AfterValidator(_positive),
    BeforeValidator(_exact),
    WithJsonSchema({"anyOf": [_TEXT, {"type": "number", "exclusiveMinimum": 0}]}),
]
"""An exact number of more than 0."""


_AT: Final = "2030-01-01T12:00:03+00:00"
_GATE: Final = "g-0123456789abcdef"
_CLOSES: Final = 'Closes after `cutoff` ABOVE ("above"), or when both answers were given so often ("rarer").'
_NOISE: Final = "Auto is exponential; with `queries` the one of less variance."
_PRACTICE: Final = means("Whether it is made up, to practise on, and free.", default=False)
_CONFIDENCE: Final = means("The probability with which margins and error bars hold.", 0.95)
_DELAY: Final = means("D: an answer leaves this many seconds after its work began.", 0.05)
_MARGIN: Final = means("An answer this far from the threshold is right with `confidence`.", 92.0)
_LEFT: Final = means("How many more ABOVE it can give; null: as many as the ledger pays for.", 24)
_ROLE: Final = "`analyst` asks; `owner` also opens gates, releases tops and sees the budget."


class GateNoise(BaseModel):
    """How exact a gate is, and what a gate without a cutoff pays."""

    noise: Literal["exponential", "laplace"] = means(_NOISE, "exponential")
    standard_error: float | None = means("Of the estimate that an ABOVE carries, if it does.", 59.0)
    margin: float = _MARGIN
    margin_all: float = means(
        "The same for several answers at once: with `confidence` all of any `cutoff` answers (all `queries` of a gate "
        "that is planned for them; `expect` without a cutoff) whose counts are this far from the threshold are right.",
        272.0,
    )
    confidence: float = _CONFIDENCE
    opening_rho: str | None = means("Without a cutoff: the rho that its opening costs; else null.", None)
    above_rho: str | None = means("Without a cutoff: the rho that each ABOVE costs; else null.", None)
    practice: bool = _PRACTICE


class GateView(GateNoise):
    """A gate as everybody may see it."""

    id: str = means("Its name in addresses.", _GATE)
    name: str = means("What people call it; empty where nobody named it.", "Visits to the new page")
    description: str = means("What it is for.", "Asked by the team that made it.")
    opened_by: str | None = means("The name of a token; null where that was not noted.", "olga")
    threshold: int = means("The PUBLIC number of people that counts are compared with.", 1000)
    cutoff: int | None = means("How many ABOVE it gives before it closes; null: it pays for each.", 25)
    epsilon: str = means("The privacy loss: an exact decimal. Without a cutoff: what was charged so far.", "0.5")
    within: str | None = means("Without a cutoff: the margin that was asked for; else null.", None)
    expect: int | None = means("Without a cutoff: for how many ABOVE its noise was chosen; else null.", None)
    per: str | None = means("The column whose values have a gate each, at a share of `epsilon`; null: one gate.", None)
    cells_per_user: int | None = means("With `per`: in how many cells a person counts; else null.", None)
    queries: int | None = means("How many questions it is planned for; null: any number.", None)
    closes: Literal["above", "rarer"] = means(_CLOSES, "above")
    asked: int = means("How many questions it was asked.", 3)
    positives: int = means("What counts as ABOVE, lost answers included.", 1)
    lost: int = means("How many of its answers nobody can see; each counts as an ABOVE.", 0)
    remaining: int | None = _LEFT
    closed: bool = means("Whether it answers no more.", False)
    because: str | None = means("Why it is closed.", None)
    opened_at: str = means("When it was opened: ISO 8601, UTC.", _AT)
    spent: str = means("What its answers have cost so far, of `epsilon`.", "0.052375")
    given_back: str = means("What went back to the ledger when it closed.", "0")
    reserved: str = means("The rest of `epsilon`, which the ledger keeps for it.", "0.447625")
    ahead: int | None = means(
        "How many questions this server answers before the oldest of this token that waits, or before a new one. Each "
        "takes D. Told of one gate, and null in lists.",
        0,
        default=None,
    )


class AnswerView(BaseModel):
    """The answer to one ask: public, and stored before it is given."""

    gate: str = means("The id of the gate.", _GATE)
    number: int = means("Which question of the gate it is, from 1.", 4)
    above: bool = means("Whether it was ABOVE.", True)
    remaining: int | None = _LEFT
    closed: bool = means("Whether it answers no more.", False)
    estimate: int | None = means("Of an ABOVE: about how many people match; else null.", default=None)
    standard_error: float | None = means("Of that estimate, where there is one.", default=None)
    spent: str = means("What the gate's answers have cost so far: an exact decimal.", default="0")
    practice: bool = _PRACTICE


class AskedQuestion(BaseModel):
    """A question that was asked before; ``above`` is null where the answer was lost."""

    number: int = means("Which question of the gate it is, from 1.", 4)
    at: str = means("When: ISO 8601, UTC.", _AT)
    where: str = means("The condition that was asked.", "country = 'DE'")
    above: bool | None = means("Whether it was ABOVE; null where the answer was lost.", True)
    estimate: int | None = means("Of an ABOVE: about how many people match; else null.", 1870)
    by: str | None = means("The token that asked: for owners, and for whoever asked it.", "anna")


class PastAnswer(AskedQuestion):
    """A question that was asked before; ``above`` is null where the answer was lost."""

    practice: bool = _PRACTICE


class GateNumbers(Posted):
    """What a gate is made from."""

    threshold: int = means("A PUBLIC number of people.", 1000, ge=-MOST_THRESHOLD, le=MOST_THRESHOLD)
    cutoff: int | None = means("Close after this many ABOVE.", 25, default=None, ge=1, le=MOST_WHOLE)
    epsilon: Positive | None = means("The privacy loss of all the gate's answers together.", "0.5", default=None)
    within: Positive | None = means(
        "On a zCDP ledger, in place of `cutoff` and `epsilon`: pay for each ABOVE, with noise of this margin.",
        default=None,
    )
    expect: int | None = means(
        "With `within`: choose the noise for this many ABOVE; by default 10.", default=None, ge=1, le=MOST_WHOLE
    )
    per: str | None = means(
        "A column that is served with cells: a gate for each of its values, with this cutoff each.", default=None
    )
    queries: int | None = means(
        "Plan for this many questions, and close after them.", default=None, ge=1, le=MOST_WHOLE
    )
    noise: Literal["auto", "exponential", "laplace"] = means(_NOISE, default="auto")
    closes: Literal["above", "rarer"] = means(_CLOSES, default="above")


class OpenGate(GateNumbers):
    """A new gate. It closes after `cutoff` ABOVE, or with "rarer" when both answers were given as often.

    With `within` in place of `cutoff` and `epsilon` it answers for as long as a zCDP ledger can pay for another ABOVE.
    """

    name: str = means(
        "What people call it, in one line.", "Visits to the new page", default="", max_length=gates.LONGEST_NAME
    )
    description: str = means("What it is for.", default="", max_length=gates.LONGEST_DESCRIPTION)


class CurvePoint(BaseModel):
    """The margin of the same gate at another epsilon."""

    epsilon: float = means("The epsilon.", 0.5)
    margin: float = _MARGIN


class CutoffPoint(BaseModel):
    """The margin of the same gate at another cutoff."""

    cutoff: int = means("How many ABOVE it gives before it closes.", 25)
    margin: float = _MARGIN


class GatePreview(GateNoise):
    """What a gate would be good for: public numbers, without a look at the data, and free."""

    cost: str = means("The epsilon that opening it reserves; without a cutoff with its first ABOVE.", "0.5")
    rho: str = means("What opening it is charged where the ledger is a zCDP one.", "0.12245933120185456")
    remaining: str | None = means("The epsilon that the ledger has left; null for analysts.", "1.5")
    remaining_rho: str | None = means("The rho that a zCDP ledger has left; null of others, and for analysts.", None)
    warning: str | None = means("Why it is of little use, or cannot be opened; in sentences.", None)
    curve: list[CurvePoint] = means("From a tenth of its epsilon to ten times that.")
    by_cutoff: list[CutoffPoint] = means(
        "From a tenth of its cutoff to ten times that, but for those whose plans take long."
    )


class AskGate(Posted):
    """A question: how many people have a row that matches, compared with the threshold."""

    where: str = means("A condition on the declared columns of one row.", "country = 'DE'")
    cell: str | int | None = means(
        "At a gate for each cell: the PUBLIC value of its column whose people are asked about.", default=None
    )


class Quota(BaseModel):
    """What a token may have, and had; null: no limit."""

    most_above: int | None = means("How many ABOVE its questions may be given.", 100)
    above: int = means("How many they were given, lost answers included.", 3)
    most_epsilon: str | None = means("How much it may charge.", "1")
    epsilon: str = means("How much it charged.", "0.5")


class TokenHolder(BaseModel):
    """Whose token it is, and what it may do."""

    name: str = means("Whose token it is.", "anna")
    role: Literal["owner", "analyst"] = means(_ROLE, "analyst")
    expires_at: str | None = means("From when on it lets nobody in; null: never.", None)


class WhoAmI(TokenHolder):
    """Whose token this is, and what it may do."""

    quota: Quota = means("What the token may have, and had.")


class TokenView(TokenHolder):
    """A token, without its text."""

    added_at: str = means("When it was made: ISO 8601, UTC.", _AT)
    last_used_at: str | None = means("To the minute.", None)
    revoked_at: str | None = means("When it was revoked; null where it was not.", None)
    quota: Quota | None = means("Null where it has none.")


class NewToken(TokenView):
    """A token with its text, which is shown this once."""

    token: str = means("The token itself.", "sg_" + 43 * "A")


class AddToken(Posted):
    """A new token. Its name stands for it for ever, also when it is revoked."""

    name: str = means("Whom it is for.", "anna", min_length=1, max_length=LONGEST_NAME)
    role: Literal["owner", "analyst"] = means(_ROLE, default="analyst")
    expires: str | None = means(
        "A time from now such as 30d or 12h, or a date, or a moment.", "30d", default=None, max_length=40
    )
    most_above: int | None = means("How many ABOVE it may be given.", 100, default=None, ge=1, le=MOST_WHOLE)
    most_epsilon: Positive | None = means("How much an owner may charge.", default=None)


class ActivityLine(AskedQuestion):
    """One question, and what came of it; ``above`` is null where the answer was lost."""

    gate: str = means("The id of the gate.", _GATE)
    gate_name: str = means("What people call the gate.", "Visits to the new page")
    cursor: str = means("What is older is `after` this.", f"{_AT}_1_4")


class TopRow(BaseModel):
    """A chosen item; an itemset is a list of items."""

    rank: int | None = means("Only where the order means something.", default=None)
    item: str | int | list[str | int] = means("The item; of sets a list of items.", "/home")
    estimate: int | None = means("Its noisy count, where there is one.", default=None)


class Top(BaseModel):
    """The chosen items in the order selected, or as a set: as `sparsegate top --json`, see docs/reference/json.md."""

    layout: Literal["sparsegate/top/1"] = means(
        "The kind and version of this object.", "sparsegate/top/1", alias="schema"
    )
    item: str = means("The column that was ranked.", "page")
    items: list[TopRow] = means("What was selected.")
    error_bar: int | None = means("For each count.", None)
    error_bar_all: int | None = means("For all counts at once.", None)
    confidence: float = _CONFIDENCE
    record: dict[str, str | int | float | bool | None] = means(
        "The public parameters of the release, and what it cost.",
        {"epsilon": "0.5", "delta": "0", "method": "subset", "ordered": False, "unit": "user", "count": 2},
    )


class DeclaredColumn(BaseModel):
    """A column that may be asked about."""

    name: str = means("What it is called in conditions.", "country")
    kind: Literal["text", "integer", "real", "boolean", "date", "timestamp", "time"] = means(
        "What its cells are.", "text"
    )
    cells_per_user: int | None = means(
        "In how many of its values a person counts, where gates can be opened for each; else null.", default=None
    )
    example: str | None = means("For practice: a condition that many made-up people meet.", default=None)


class Served(BaseModel):
    """What is served: everything that is public about the data."""

    dataset: str = means("What the data is called.", "visits")
    unit: Literal["user", "row"] = means("Whom the counts protect: people, or rows.", "user")
    delay: float = _DELAY
    rule: Literal["epsilon", "zcdp"] = means("What the ledger adds up.", "epsilon")
    max_cell: int = means("Text cells are cut to this many characters before they are compared.", 1000)
    columns: list[DeclaredColumn] = means("What may be asked about.")
    left_out: list[str] = means("Columns that are there, of a type that cannot be asked about.", ["photo"], default=[])
    practice: bool = _PRACTICE


class AskRefresh(Posted):
    """Whether gates that are open on the old data may be closed."""

    close_gates: bool = means("Close open gates for good where the data has changed.", True, default=False)


class Refreshed(BaseModel):
    """Whether the data was other than before, and how it is answered from now on."""

    changed: bool = means("Whether there is a new copy; else nothing was done.", True)
    delay: float = _DELAY


class CanAnswer(BaseModel):
    """The service can answer."""

    status: Literal["ready"] = means("Always the same: a service that cannot answer says 503.", "ready")


class Health(BaseModel):
    """The service is up."""

    status: Literal["ok"] = means("Always the same: it is up.", "ok")
    version: str = means("The version of sparsegate.", "0.1.0")


class Problem(BaseModel):
    """An error (RFC 9457). ``start`` and ``end`` are the place in the condition, ``near`` columns that may be meant."""

    type: str = means("The kind of problem.")
    title: str = means("The kind of problem in words.")
    status: int = means("The HTTP status.")
    detail: str = means("What happened, and the next step, in words.")
    pointer: str | None = means("Where that parameter is in the body that was sent (RFC 6901).", default=None)
    parameter: str | None = means("Which parameter breaks its rule.", default=None)
    rule: str | None = means("The rule that it breaks.", default=None)
    next_step: str | None = means("What to do about it.", default=None)
    start: int | None = means("Where the part of the condition that is wrong begins.", default=None)
    end: int | None = means("Where the part of the condition that is wrong ends.", default=None)
    near: list[str] | None = means("Columns that may have been meant.", default=None)


MOST_CANDIDATES: Final = 2**53


def _domain(value: object) -> object:
    """Never a path: a file of the server is not for whoever sends requests."""
    if value == "observed" or (type(value) is int and 1 <= value <= MOST_CANDIDATES):
        return value
    if isinstance(value, list) and all(type(label) in (str, int) for label in value):
        return value
    raise PydanticCustomError("domain", 'must be a list of labels, a number of candidates, or "observed"')


Candidates = Annotated[
    Any,
    BeforeValidator(_domain),
    WithJsonSchema(
        {
            "anyOf": [
                {"const": "observed"},
                {"type": "integer", "minimum": 1, "maximum": MOST_CANDIDATES},
                {"type": "array", "items": {"type": ["string", "integer"]}},
            ]
        }
    ),
]


_METHODS: Final = (AUTO, *METHODS)


def _method(value: str) -> str:
    if value not in _METHODS:
        raise PydanticCustomError("method", f"must be one of {', '.join(_METHODS)}")
    return value


Method = Annotated[str, AfterValidator(_method), WithJsonSchema({"type": "string", "enum": list(_METHODS)})]
"""How a top-c is selected."""


class AskTop(Posted):
    """A private top-c of one column, or all above a bar; see ``sparsegate.top_items`` for what the options mean."""

    item: str = means("The declared column to rank: text or integers.", "page")
    count: int | None = means("How many to select; or above.", 2, default=None, ge=1, le=MOST_WHOLE)
    above: int | None = means("All that about this many people have.", default=None, ge=1, le=MOST_WHOLE)
    epsilon: Positive = means("The privacy loss of the selection.", "0.5")
    domain: Candidates = means(
        'PUBLIC candidates: a list; n for 0, ..., n-1; or "observed".', ["/home", "/pay", "/cart"]
    )
    delta: Exact = means('Needed with "observed"; elsewhere it may buy less noise.', default=Fraction(0))
    method: Method = means(describe_methods(), default=AUTO)
    ordered: bool = means("True asks for an order, best first, and not for a set.", default=False)
    threshold: int | None = means(
        "A PUBLIC count, for the methods sparse-vector and retraversal.",
        default=None,
        ge=-MOST_THRESHOLD,
        le=MOST_THRESHOLD,
    )
    answers_epsilon: Exact = means("Spend this much more on noisy counts of what is selected.", default=Fraction(0))
    max_items_per_user: int | None = means(
        "Count this many items of each person at most: less noise.", default=None, ge=1, le=MOST_WHOLE
    )
    dbar: int | None = means(
        'With "observed": how many items take part; ten times `count` unless given.', default=None, ge=1, le=MOST_WHOLE
    )


FIELDS: Final = frozenset(
    name for body in (OpenGate, AskGate, AskTop, AddToken, AskRefresh) for name in body.model_fields
)
"""What a pointer into a body may point at."""


class Money(BaseModel):
    """An epsilon, a delta and a rho, exact."""

    epsilon: str = means("The privacy loss: an exact decimal.", "0.5")
    delta: str = means("The delta: an exact decimal.", "0")
    rho: str | None = means("The rho of zCDP: an exact decimal; null where none is counted.", "0.125")


class LedgerEntry(Money):
    """One line of the ledger."""

    number: int = means("Which entry it is, from 1.", 4)
    at: str = means("When: ISO 8601, UTC.", _AT)
    kind: Literal["budget", "spend", "reserve", "refund", "restore"] = means(
        "What it does: sets the budget, spends, reserves for a gate, gives back, or charges what a backup forgot.",
        "spend",
    )
    what: str = means("What was released, or why the budget changed.", "gate: threshold 1000, cutoff 25, unit user")
    of: int | None = means("Of a refund: the entry whose gate did not use it.", None)
    gate: str | None = means("The gate that it opened, where it did.", _GATE, default=None)


class BudgetStatement(BaseModel):
    """What was allowed, what was spent, what is left, and every entry."""

    dataset: str = means("What the data is called.", "visits")
    rule: Literal["epsilon", "zcdp"] = means("What is added up and compared with the budget.", "epsilon")
    conversion_delta: str | None = means("Of zcdp: the delta at which rho is the budget's epsilon; else null.", None)
    budget: Money = means("What may be spent in all, for ever.")
    spent: Money = means("What was spent or reserved, less what was given back.")
    given_back: Money = means("What closed gates did not use, in all.")
    remaining: Money = means("What may still be spent.")
    entries: list[LedgerEntry] = means("Every entry, the oldest first.")
