"""The JSON of every result, declared once: the type, the meaning and an example of each field.

``json_schema`` makes a JSON Schema (2020-12) of it; ``python -m pages.records`` prints it, and the site has it.
Tests hold real results against it, and refuse a field that is not declared (``tests.support.display.valid``).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema
from typing_extensions import TypeAliasType

from sparsegate.service.web.models import BudgetStatement, LedgerEntry, means
from sparsegate.service.web.openapi import example_of

Amount = TypeAliasType(
    "Amount",
    Annotated[
        str,
        Field(
            description="An epsilon or a delta: an exact decimal in text, or p/q where none ends.",
            pattern=r"^(\d+(\.\d+)?|\d+/\d+|about .+)$",
        ),
    ],
)
Label = TypeAliasType(
    "Label",
    Annotated[
        str | int | float | bool | list[Any] | None,
        Field(description="What an item is called; a set of items is a list."),
    ],
)
Real = TypeAliasType(
    "Real",
    Annotated[
        float | Literal["inf", "-inf", "nan"], Field(description="A number, or one of the texts inf, -inf and nan.")
    ],
)


def maybe(meaning: str, *example: Any, **rules: Any) -> Any:
    """A field that may be left out."""
    return means(meaning, *example, default=None, json_schema_extra=lambda schema: schema.pop("default"), **rules)


_AT: Final = "2030-01-01T12:00:03+00:00"
_CONFIDENCE: Final = "The probability with which margins and error bars hold."
_DELTA: Final = "The delta beside it; 0 is pure differential privacy."
_FNR, _SER = ("False negative rate: the mean over the runs.", "Score error rate: the mean over the runs.")


class TopRowJson(BaseModel):
    """A chosen item."""

    group: Label = maybe("With `--per`: the group that it is of.")
    rank: int = maybe("Its place, from 1; only where the order means something.", ge=1)
    item: Label = means("The item; a set of items is a list.", "/home")
    estimate: float = maybe("Its noisy count, where counts were paid for.", 1005)


class TopRecordJson(BaseModel):
    """How a top was made: public parameters alone."""

    model_config = ConfigDict(extra="allow")

    epsilon: Amount = means("The privacy loss of all of it, counts included.", "2")
    delta: Amount = means(_DELTA, "0")
    answers_epsilon: Amount = means("The part of it that paid for noisy counts.", "1")
    method: str = means("How it was selected.", "subset")
    ordered: bool = maybe("Whether the order means something.", False)
    max_items_per_user: int = maybe("How many scores one person can move, where that is limited.")
    chosen: list[str] = maybe("What was chosen from the data, of `max_items_per_user` and `clip`.", ["clip"])
    choice_epsilon: Amount = maybe("The part of epsilon that paid for that.", "0.1")
    unit: Literal["user", "row"] = means("Whom it protects: a person with all their rows, or a row.", "user")
    count: int = maybe("How many were asked for.", 1)
    domain: Literal["public", "observed"] = means(
        "Whether the candidates were listed, or came from the data.", "public"
    )
    domain_size: int = maybe("How many candidates there were.", 5)
    itemset_size: int = maybe("How many items a set has.")
    private: bool = maybe("False for research with a seed.", True)
    version: str = maybe("The version of sparsegate.", "0.1.0")
    recorded: str = maybe("Where a ledger has it.", "entry 2 of the ledger of 'visits'")
    item: str = maybe("The column that was ranked.", "page")
    within: float | None = maybe("How far below the last one asked for a selected item can be, at worst.", 7)
    items_within: int = maybe("Of sets: how far below the last of the items selected first one of them can be.")


class _Bars(BaseModel):
    items: list[TopRowJson] = means("What was selected, in order where that means something.")
    error_bar: float | None = means("How far each count is from the truth at most, with `confidence`; or null.", 6)
    error_bar_all: float | None = means("The same for all counts at once.", 7)
    confidence: float = means(_CONFIDENCE, 0.95)


class TopJson(_Bars):
    """Selected items, and their noisy counts."""

    item: str = means("The column that was ranked.", "page")
    record: TopRecordJson = means("Public parameters, and what it cost.")
    groups: list[Label] = maybe("With `--per`: all groups, also those without an item.")


class SelectionJson(_Bars):
    """What `select_top` selected."""

    method: str = means("How it was selected.", "noisy-scores")
    epsilon: Amount = means("The privacy loss.", "0.5")
    delta: Amount = means(_DELTA, "0")
    ordered: bool = means("Whether the order means something.", False)
    labels: Literal["item", "index"] = means("Whether items are labels of a mapping, or places in an array.", "item")


class CountsJson(BaseModel):
    """How often an event happened, in how many runs, on each of two neighbours."""

    hits1: int = means("How often on the one.", 65)
    trials1: int = means("In how many runs.", 121)
    hits2: int = means("How often on the other.", 0)
    trials2: int = means("In how many runs.", 109)


class EvidenceJson(BaseModel):
    """An event that tells two neighbours apart."""

    event: str = means("The event that tells them apart.", "(True)")
    counts: CountsJson = means("How often it happened on both, in how many runs.")
    answers: list[Any] = means("Answers on one dataset.", [0])
    neighbour: list[Any] = means("Answers on its neighbour.", [-1])


class ReplayJson(BaseModel):
    """Runs with the same randomness on neighbours."""

    sensitivity: float = means("How far what noise is added to moved at most.", 1.0)
    declared: float = means("How far it may move.", 1.0)
    findings: list[str] = means("What a reviewer should look at.", [])
    tapes: int = means("Pairs of runs.", 40)


class AuditJson(BaseModel):
    """What an audit proved about a mechanism."""

    mechanism: str = means("What was audited.", "my_gate.answer")
    epsilon: Amount | None = means("The epsilon it claims; null where it claims rho or RDP.", "1")
    delta: Amount = means("The delta it claims.", "0")
    rho: Amount | None = means("The rho of zCDP it claims, or null.", None)
    rdp: list[float] | None = means("The RDP it claims, order and divergence, or null.", None)
    epsilon_lower: Real = means("Its epsilon is at least this, with `confidence`.", 1.133)
    delta_lower: Real | None = means("At the claimed epsilon its delta is at least this, with `confidence`.", 0.0417)
    renyi_lower: Real | None = means("Its rho, or its divergence at that order, is at least this.", None)
    confidence: float = means("Of all bounds together.", 0.99)
    violates: bool = means("Whether that refutes the claim.", True)
    witness: EvidenceJson = means("What shows it.")
    samples: int = means("Runs in all.", 6244)
    seconds: float = means("How long it took.", 1.0)
    replay: ReplayJson | None = means("What runs with the same randomness on neighbours showed, if asked for.", None)
    sentence: str = means("All of it in a sentence.", "my_gate.answer is NOT private at ε = 1: ...")
    row: str = maybe("With `--variants`: the row that was audited.")


class HoldoutJson(BaseModel):
    """The score of a model on a holdout that can be used again."""

    model: str = maybe("The column that was scored; from the command line alone.", "tree")
    value: float = means("The score.", 0.5)
    paid: bool = means("Whether it was paid for; what is not paid is free.", False)
    margin: float = means("How far it is from the score on the holdout at most, with a probability of 0.95.", 0.05)
    remaining: int = means("How many more can be paid for.", 5)


class OnlineJson(BaseModel):
    """The answer to one counting query."""

    estimate: float = means("About how many people the query counts.", 6016.4)
    paid: bool = means("Whether it was paid for; what is not paid is free.", True)
    checked: bool = means("Whether the gate held it against the data; false where the checks were used up.", True)
    margin: float | None = means("How far from the truth it is at most, with a probability of 0.95; or null.", 89.9)
    note: str | None = means("What to know about everybody it counts.", None)


class _Case(BaseModel):
    dataset: str = means("The name of the dataset.", "zipf")
    epsilon: Amount = means("The privacy loss.", "0.1")
    count: int = means("How many were asked for: c.", 25)


class EvaluationRowJson(_Case):
    """What became of a method at one dataset, epsilon and count."""

    stand_in: bool = means("Whether the data is a stand-in for the published one.", False)
    method: str = means("The key of the method.", "em")
    runs: int = means("How many runs the means are of.", 100)
    ser_mean: Real = means(_SER, 0.00248)
    ser_std: Real = means("Its standard deviation over the runs.", 0.00055)
    fnr_mean: Real = means(_FNR, 0.08)
    fnr_std: Real = means("Its standard deviation over the runs.", 0.0)
    selected_mean: Real = means("How many were selected, on average.", 25.0)
    seconds: float = means("How long it took.", 0.0127)


class EvaluationJson(BaseModel):
    """The results of an experiment."""

    items: list[EvaluationRowJson] = means("A row for each dataset, method, epsilon and count.")


class ComparisonRowJson(_Case):
    """What became of a method at one dataset, epsilon and count."""

    stand_in: bool = means("Whether the data is a stand-in for the published one.", False)
    method: str = means("The key of the method.", "em")
    true_epsilon: Real | None = means("What it really costs; null where nobody checked.", 0.1)
    delta: Real = means(_DELTA, 0.0)
    runs: int = means("How many runs the means are of.", 4)
    fnr_mean: Real = means(_FNR, 0.02)
    fnr_error: Real = means("Its standard error.", 0.0115)
    ser_mean: Real = means(_SER, 0.00057)
    ser_error: Real = means("Its standard error.", 0.00045)
    selected_mean: Real = means("How many were selected, on average.", 25.0)
    precision_mean: Real = means("The share of the selected that belong to the top c: the mean over the runs.", 0.98)
    precision_error: Real = means("Its standard error.", 0.0115)
    total_ser_mean: Real = means("The score error rate with empty places as 0: the mean over the runs.", 0.0006)
    total_ser_error: Real = means("Its standard error.", 0.0004)
    seconds: float | None = means("Of one selection; null where nobody can release what it selects.", 0.0016)


class ComparisonCellJson(_Case):
    """Who wins at one dataset, epsilon and count."""

    league: str = means("The promise that those who compete keep.", "pure")
    winners: list[str] = means("Those that win, or tie.", ["subset"])
    undecided: list[str] = means("Those of whom it is not known.", ["em"])
    best: Real = means("The lowest error.", 0.0)


class ComparisonJson(BaseModel):
    """A leaderboard: who wins where."""

    by: str = means("The error that decides.", "fnr")
    margin: float = means("A difference of this much or less is a tie.", 0.02)
    false_map: float = means("The chance that any cell is wrong is at most this.", 0.004)
    items: list[ComparisonRowJson] = means("A row for each dataset, method, epsilon and count.")
    winners: list[ComparisonCellJson] = means("Who wins each cell.")
    report: str = maybe("Where the page is; from the command line alone.")


class PaperVerdictJson(BaseModel):
    """What became of a statement, or of its part."""

    support: str = means("The verdict.", "supported")
    numbers: str = means("The numbers behind it.", "highest SER: zipf: 0.066 ± 0.024")


class PaperStatementJson(PaperVerdictJson):
    """A statement of the paper, and what became of it."""

    key: str = means("Its name on the command line.", "accurate-at-25")
    kind: str = means("What kind of statement it is.", "statement")
    where: str = means("Where it stands.", "Sec. 6, interactive setting")
    claim: str = means("What it says.", "At c = 25 every interactive method is quite accurate.")
    rule: str = means("What decides.", "SER of at most 0.1 for all of them on every dataset")
    places: dict[str, PaperVerdictJson] = means("The verdict of each dataset or figure.", {})


class ReproductionJson(BaseModel):
    """The paper's statements, and what became of each."""

    tally: dict[str, dict[str, int]] = means(
        "Of each kind of statement: how many have which verdict.", {"statement": {"supported": 1}}
    )
    statements: list[PaperStatementJson] = means("Every statement.")
    readings: dict[str, dict[str, str]] = maybe("Of each reading of the paper: the verdict of each statement.", {})
    rows: int = means("How many rows the results have.", 11)
    seconds: float = means("How long it took.", 21.5)
    files: dict[str, str] = means("Where the files are.", {"report": "rep/report.html"})


class LossJson(BaseModel):
    """What a variant leaks, exactly."""

    row: str = means("The key of the variant.", "lee-clifton-2014")
    cutoff: int = means("How many positives it gives before it stops.", 1)
    epsilon: Amount = means("The epsilon it claims.", "0.1")
    monotonic: bool = means("Whether one person moves all answers one way.", False)
    queries: int | None = means("At most this many questions; null: any number.", None)
    tight_epsilon: Real = means("The smallest epsilon that it satisfies.", 0.175)
    answers: list[float] = means("Answers on one dataset.", [213, -214])
    neighbour: list[float] = means("Answers on its neighbour.", [214, -215])
    outcome: list[bool | float | str] = means(
        "What was said: true is ABOVE; numbers where it releases some.", [False, True]
    )
    loss: Real = means("The log of the ratio of the outcome's two probabilities.", 0.1749)
    threshold: list[float] = maybe("The threshold of each answer.", [0, 0])
    estimates: list[float] | None = maybe("Public estimates, of rows that compare errors.", None)
    plot: str = maybe("Where the picture is.")


class ScaleJson(BaseModel):
    """The scale of a noise, in sensitivities over its share of epsilon."""

    factor: float = means("How many of them.", 1)
    per_cutoff: bool = means("Whether it is times c.", False)


class VariantJson(BaseModel):
    """A published algorithm, as a row of the table."""

    key: str = means("Its name on the command line.", "lee-clifton-2014")
    algorithm: str = means("Its number in the paper.", "Alg. 4")
    title: str = means("Its name in words.", "Lee, Clifton 2014")
    citation: str = means("Who published it.", "Lee, Clifton: Top-k frequent itemsets ..., KDD 2014")
    claimed: str = means("The loss that its authors claim.", "ε")
    truth: str = means("Its true loss.", "(1+6c)ε/4; monotonic (1+3c)ε/4")
    private: bool = means("Whether the claim is true.", False)
    allocation: str | float = maybe("Shares of epsilon for the threshold and for the queries.", "1:3")
    threshold_noise: ScaleJson = maybe("The scale of the threshold noise.")
    redraws_threshold: bool = maybe("Whether that noise is drawn again after a positive.", False)
    query_noise: ScaleJson = maybe("The scale of the query noise.")
    query_noise_monotonic: ScaleJson = maybe("The same where one person moves all answers one way.")
    compared: str = maybe("What is compared with the noisy threshold.", "answer")
    released: str = maybe("What a positive releases.", "nothing")
    gap: bool = maybe("Whether it releases the gap to the threshold.", False)
    noise: str = maybe("The law of its noise.", "laplace")
    closes: str = maybe("When it stops.", "above")
    flaw: str | None = maybe("What is wrong with it; null where nothing is.", "its query noise does not grow with c")


class MeasuredJson(BaseModel):
    """A number of a claim, beside the one that it is compared with."""

    what: str = means("What it is.", "loss of BELOW^ℓ, c = 1")
    measured: Real = means("What was measured.", 0.5)
    relation: str = means("How the two must relate.", "<=")
    claimed: Real = means("What it is compared with.", 0.5)
    holds: bool = means("Whether they do.", True)
    tight: bool | None = means("Whether they meet; null where only one bound is claimed.", True)


class ClaimJson(BaseModel):
    """A claim of the paper, or beyond it, measured."""

    key: str = means("Its name on the command line.", "lemma-1")
    place: str = maybe("Where it stands.", "Sec. 3.1, Lemma 1")
    statement: str = maybe("What it says.", "Alg. 1: Pr[A(D) = BELOW^ℓ] <= e^ε₁ Pr[A(D') = BELOW^ℓ] for every ℓ.")
    expected: str = maybe("The verdict that this project documents.", "holds and is tight")
    verdict: str = maybe("The verdict that was measured now.", "holds and is tight")
    evidence: str = maybe("The numbers in a line.", "loss 0.5000 of ε₁ = 0.5 at c = 1")
    parts: list[MeasuredJson] = maybe("What was measured.")


class DatasetJson(BaseModel):
    """A dataset of the evaluation."""

    name: str = means("Its name on the command line.", "bms-pos")
    records: int = means("How many records it has.", 515597)
    items: int = means("How many items it has.", 1657)
    title: str = maybe("Its name in words.", "BMS-POS")
    source: str = maybe("Where it comes from.", "baskets of an electronics shop, KDD Cup 2000")
    url: str | None = maybe("Where `datasets fetch` gets it; null where nobody has it.", None)
    without_a_file: str = maybe("What is used where there is no file.", "stand-in")
    stand_in: bool = maybe("Whether the data is a stand-in for the published one.", True)
    description: str = maybe("How that is made.", "STAND-IN, not the data: counts max(1, round(...)) ...")


class MethodJson(BaseModel):
    """A method of the evaluation."""

    key: str = means("Its name on the command line.", "svt-dpbook")
    title: str | None = means("Its name in words; null where it is not loaded for a list.", "SVT-DPBook")
    package: str | None = means("The package that brings it; null: ours.", None)
    interactive: bool | None = maybe("Whether it sees one item after the other.", True)
    source: str | None = maybe("Where it is in that package.", None)


class ReleaseJson(BaseModel):
    """What a release gave that is neither a top nor a watch."""

    entry: LedgerEntry = means("The entry that paid for it.")
    gave: list[Any] = means("What was kept with it.", [{"mean": 41}])


class GateRecordJson(BaseModel):
    """Public parameters of a gate or an alert, and what it cost."""

    model_config = ConfigDict(extra="allow")

    epsilon: Amount = means("The privacy loss.", "1")


class WatchJson(BaseModel):
    """A line of `watch`: first the record, then an answer a line, then that it is closed."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"record": {"threshold": 300, "cutoff": 1, "epsilon": "1", "delta": "0", "unit": "user", "margin": 6}},
                {"condition": "page = '/pay'", "above": True, "estimate": 696, "standard_error": 2.8, "remaining": 0},
                {"closed": True},
            ]
        }
    )

    record: GateRecordJson = maybe("Public parameters of the gate, and what it cost.")
    condition: str = maybe("The condition.")
    above: bool = maybe("Whether more people than the threshold have a row that meets it, up to noise.")
    remaining: int = maybe("How many more ABOVE there can be.")
    closed: bool = maybe("The last ABOVE is given.")
    estimate: float = maybe("Of an ABOVE: about how many.")
    standard_error: float = maybe("Of that estimate.")


class AlertJson(BaseModel):
    """A line of `alert`: first the record, then a window a line, then how it ended."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"name": "outage", "from": "2030-01-01T14:00:00+00:00", "to": "2030-01-01T14:05:00+00:00"}
                | {"window": 168, "fired": True, "estimate": 1204, "standard_error": 35.5},
                {"ended": "closed", "answered": 169, "fired_in_all": 1, "spent": "0.5"},
            ]
        }
    )

    record: GateRecordJson = maybe("Public parameters of the alert, and what it cost.")
    name: str = maybe("The name of the alert.")
    begin: str = maybe("Where the window begins: ISO 8601, UTC.", alias="from")
    to: str = maybe("Where it ends.")
    window: int = maybe("Its number, from 0.")
    fired: bool = maybe("Whether it fired.")
    estimate: float = maybe("Where it fired: about how many people.")
    standard_error: float = maybe("Of that estimate.")
    cells: list[tuple[str | int, float | None]] = maybe("With `--per`: the cells that fired, each with its estimate.")
    ended: str = maybe("Why it is over.")
    answered: int = maybe("How many windows were answered.")
    fired_in_all: int = maybe("How many of them fired.")
    spent: Amount = maybe("What it has cost.")


class TokenJson(BaseModel):
    """A token of a service, without its text."""

    number: int = means("Its number, from 1.", 1)
    name: str = means("Whose token it is.", "anna")
    role: str = means("`analyst` or `owner`.", "analyst")
    added_at: str = means("When it was made: ISO 8601, UTC.", _AT)
    expires_at: str | None = means("From when on it lets nobody in; null: never.", None)
    last_used_at: str | None = means("When it was used last, to the minute.", None)
    revoked_at: str | None = means("When it was revoked; null where it was not.", None)
    most_above: int | None = means("How many ABOVE it may be given; null: no limit.", 10)
    most_epsilon: Amount | None = means("How much it may charge; null: no limit.", None)


class AskJson(BaseModel):
    """A question that a service was asked."""

    gate: str = means("The id of the gate.", "g-0123456789abcdef")
    gate_name: str = means("What people call the gate.", "Visits to the new page")
    number: int = means("Which question of the gate it is, from 1.", 4)
    by: str | None = means("The name of the token; null where nobody knows.", "anna")
    at: str = means("When: ISO 8601, UTC.", _AT)
    condition: str = means("The condition.", "country = 'DE'")
    above: bool | None = means("Whether it was ABOVE; null where the answer was lost.", True)
    estimate: int | None = means("Of an ABOVE: about how many people match; else null.", 1870)
    cursor: str = means("Its place in the list.", f"{_AT}_1_4")


class PreviewCurveJson(BaseModel):
    """How a figure changes with a parameter."""

    figure: str = means("A name in `accuracy`.", "margin")
    parameter: str = means("`epsilon`, or a name in `settings`.", "epsilon")
    points: list[list[float]] = means("Pairs of the parameter and the figure.", [[0.5, 26], [1, 13], [2, 7]])
    label: str = means("What it is the curve of, where there are several.", "")


class SeriesJson(BaseModel):
    """What a series of equal releases costs by either rule."""

    times: int = means("How many there are.", 365)
    epsilon: Amount = means("What they cost on a ledger that adds.", "36.5")
    delta: Amount = means("The delta of that.", "0")
    rho: Amount = means("What they cost on a zCDP ledger.", "0.045625")
    rho_delta: Amount = means("The delta that they have of their own beside that.", "0")
    conversion_delta: Amount = means("The delta at which that rho is made an epsilon.", "0.000001")
    zcdp_epsilon: float = means("The epsilon of that rho at that delta.", 1.4007)
    better: Literal["epsilon", "zcdp"] = means("The rule with the smaller epsilon.", "zcdp")
    largest_epsilon: dict[str, Amount | None] = means(
        "By rule: the largest epsilon of a release of which so many fit the budget given; null where none does.",
        {"zcdp": "0.073", "epsilon": "0.00273"},
    )


class PreviewJson(BaseModel):
    """What a release would be charged, and the accuracy to expect of it: from public numbers."""

    release: str = means("What is previewed.", "gate")
    epsilon: Amount = means("The privacy loss that would be charged.", "1")
    delta: Amount = means(_DELTA, "0")
    rho: Amount = means("What a zCDP ledger would be charged.", "0.462117157260009")
    rho_delta: Amount = means("The delta that it would be charged beside that.", "0")
    confidence: float = means("The probability with which the figures hold.", 0.95)
    settings: dict[str, Any] = means(
        "The public parameters and choices that the figures are for.", {"threshold": 1000, "cutoff": 5}
    )
    accuracy: dict[str, Any] = means(
        "Named figures, in units of the answer; null where nothing is promised.", {"margin": 13, "margin_all": 25}
    )
    statement: str = means("The preview in a sentence or two.", "ε = 1, cutoff 5: an answer 13 or more from ...")
    warning: str | None = means("Why it would be of little use; null where it would be of use.", None)
    items: list[dict[str, Any]] = means("What else could be released, a row each.", [])
    helps: list[dict[str, Any]] = means(
        "What would help: the parameters that change, and the figures that they bring.",
        [{"change": {"delta": "0.000001"}, "method": "gumbel", "within": 310}],
    )
    curves: list[PreviewCurveJson] = means("How the figures change with a parameter.")
    series: SeriesJson | None = means("What many such releases would cost; null where that was not asked for.", None)


Share = Annotated[float, Field(ge=0)]


class EdgeJson(BaseModel):
    """A dependency of one column on another."""

    parent: str = means("The column nearer to the root.", "smokes")
    child: str = means("The other one.", "coughs")
    strength: Share = means("The distance from independence, from 0 to 1.", 0.21)


class TreeJson(BaseModel):
    """A tree of dependencies between columns, with its noisy tables."""

    items: list[EdgeJson] = means("The edges.")
    columns: dict[str, list[Label]] = means(
        "The labels of each column.", {"smokes": ["no", "yes"], "coughs": ["no", "yes"]}
    )
    others: dict[str, Label] = means("Of each column with such a label: the one for all other cells.", {})
    roots: dict[str, list[Share]] = means("Of each root: the share of each label.", {"smokes": [0.7, 0.3]})
    conditionals: dict[str, list[list[Share]]] = means(
        "Of each other column: a row of shares for each label of its parent.", {"coughs": [[0.9, 0.1], [0.4, 0.6]]}
    )
    rows: float = means("About how many rows there are.", 10012.0)
    epsilon: Amount = means("The privacy loss.", "1")
    edges_epsilon: Amount = means("The part that paid for the edges.", "0.5")
    tables_epsilon: Amount = means("The part that paid for the tables.", "0.5")
    thresholds: list[int] = means("The public thresholds that edges were held against, where a gate chose them.", [812])


class TunedJson(BaseModel):
    """The best of a random number of private runs; how many there were is not told."""

    candidate: Label | dict[str, Any] = means("What the best run was trained with; null where there was no run.", 0.1)
    score: Real | None = means("Its score; null where there was no run.", 0.93)
    epsilon: Amount = means("The privacy loss of all the runs together.", "1.6417")
    delta: Amount = means(_DELTA, "0.000001")
    law: str = means("The law of the number of runs.", "logarithmic")
    mean: float = means("Its mean.", 100.0)
    each: str = means("What one run costs.", "Gaussian noise of multiplier 4.53")


RECORDS: Final[Mapping[str, type[BaseModel]]] = {
    "top": TopJson,
    "selection": SelectionJson,
    "audit": AuditJson,
    "online": OnlineJson,
    "holdout": HoldoutJson,
    "evaluation": EvaluationJson,
    "comparison": ComparisonJson,
    "reproduction": ReproductionJson,
    "loss": LossJson,
    "variant": VariantJson,
    "claim": ClaimJson,
    "dataset": DatasetJson,
    "method": MethodJson,
    "ledger": BudgetStatement,
    "entry": LedgerEntry,
    "release": ReleaseJson,
    "watch": WatchJson,
    "token": TokenJson,
    "ask": AskJson,
    "preview": PreviewJson,
    "tree": TreeJson,
    "tuned": TunedJson,
    "alert": AlertJson,
}
"""What each ``sparsegate/NAME/1`` has beside its field ``schema``."""


def schemas_file() -> str:
    """The schema itself, for programs."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


def json_schema() -> dict[str, Any]:
    """A JSON Schema (2020-12) of all that sparsegate prints and returns as JSON, with an example of each kind."""
    parts = models_json_schema([(record, "validation") for record in RECORDS.values()])[1]["$defs"]
    for part in parts.values():
        for schema in (part, *part.get("properties", {}).values()):
            schema.pop("title", None)
    defined = {}
    for name, record in RECORDS.items():
        schema = parts[record.__name__]
        kind = {"description": "The kind, and the version of its form.", "const": f"sparsegate/{name}/1"}
        examples = schema.get("examples") or [example_of(schema, parts)]
        defined[name] = schema | {
            "properties": {"schema": kind, **schema["properties"]},
            "required": ["schema", *schema.get("required", [])],
            "examples": [{"schema": kind["const"], **example} for example in examples],
        }
    text = json.dumps(parts)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What sparsegate prints and returns as JSON, version 1 of each schema",
        "$comment": "docs/reference/json.md says what may change within a version.",
        "type": "object",
        "properties": {"schema": {"enum": [f"sparsegate/{name}/1" for name in RECORDS]}},
        "required": ["schema"],
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in RECORDS],
        "$defs": defined | {name: part for name, part in parts.items() if f'"#/$defs/{name}"' in text},
    }


if __name__ == "__main__":
    sys.stdout.write(schemas_file())
