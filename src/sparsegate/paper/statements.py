"""The paper's statements, each with a check that reads the results and nothing else, under every reading of the paper.

A statement is judged by what it says, on the paper's datasets; a file of one's own has its place beside them, and
changes no verdict. Where readings that the paper leaves open do not agree, the verdict is that it depends on the
reading. Published values are compared with ours within the error of a mean over their 100 runs: on the data, on a part
scaled up, and on a stand-in, which is named; one that it was fitted to is circular. Values of our own independent
simulation say something of the dataset that they are of, and of no other.

A reading's folder, ``readings/NAME`` below the results, has the rows that it changes, and those of ours that it needed
more runs of. All verdicts, side by side, are in ``readings.csv`` and ``.parquet``."""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from sparsegate.paper import checks, decisions
from sparsegate.paper.checks import Decided, Missing
from sparsegate.paper.data import OWN, UNVERIFIED
from sparsegate.paper.decisions import Combine, Decision, Judgement, Support, above, all_of, at_most, most_wanting, rate
from sparsegate.paper.readings import ALTERNATIVES, OURS, PaperReading
from sparsegate.paper.results import (
    CellKey,
    Findings,
    ResultFolder,
    Row,
    as_read,
    load_findings,
    load_part,
    read,
    table,
)

THEIR_ERRORS = 4.0  # A published mean may be this many of its own standard errors off

# The paper's statement, a number printed in the paper, or a number of our own independent simulation
KINDS = ("statement", "printed", "self-check")


@dataclass(frozen=True, kw_only=True)
class PaperStatement:
    """``kind`` is one of ``KINDS``, ``where`` the place in the paper; ``decide`` applies the rule.

    The other fields are those of ``statements.toml``, which says what they mean.
    """

    key: str
    where: str
    claim: str
    rule: str
    decide: Callable[[Findings], Iterable[Decided]]
    kind: str = "statement"
    needs: str = ""
    head: str = ""
    combine: Combine = all_of
    after_look: str = ""
    settles: tuple[str, ...] = ()

    def check(self, findings: Findings) -> Judgement:
        """What the results say; where they lack what it needs, "not run". Files of one's own have a place beside."""
        own = [name for name, entry in findings.datasets.items() if entry["kind"] == OWN]
        if not own:
            return self._judged(findings)
        others = [name for name in findings.datasets if name not in own]
        whole, beside = (self._judged(findings.only(names)) for names in (others, own))
        wanting = most_wanting((whole.wanting, beside.wanting))
        return replace(whole, places={**whole.places, **beside.places}, wanting=wanting)

    def _judged(self, findings: Findings) -> Judgement:
        try:
            decided = {place: (decision, text) for place, decision, text in self.decide(findings)}
            if not decided:
                raise Missing(self.needs and f"needs {self.needs}")
        except Missing as missing:
            return Judgement(support=Support.NOT_RUN, numbers=str(missing))
        if "" not in decided:
            decided[""] = self.combine(decision for decision, _ in decided.values()), ""
        whole, numbers = decided.pop("")
        places = {place: _told(decision, text, findings) for place, (decision, text) in decided.items()}
        names = {place: findings.place(place) if place in findings.datasets else place for place in places}
        told = _told(whole, "", findings)
        listed = "; ".join(f"{names[place]}: {judged.numbers}" for place, judged in places.items())
        # A use is no row of the results: no round asks for more runs of it.
        wanting = {cell: times for cell, times in whole.wanting.items() if cell in findings.rows}
        return replace(told, numbers=numbers or self.head + listed, places=places, wanting=wanting, cells=())


def _told(decision: Decision, text: str, findings: Findings) -> Judgement:
    rows = findings.rows
    if decision.wanting:
        cell, times = max(decision.wanting.items(), key=lambda entry: entry[1])
        runs = f"{times * rows[cell].runs:,.0f}" if cell in rows and times < math.inf else f"{times:.1f} times the"
        what = f"{cell.method} at c = {cell.count}, ε = {cell.epsilon:g} on {cell.dataset}"
        decides = f"about {runs} runs of {what} would decide (--most-runs)" if cell in rows else f"{runs} runs (--runs)"
        text += f"; {decides if times < math.inf else 'no number of runs would decide: it is on the margin'}"
    cells = tuple(cell for cell in decision.cells if cell in rows)
    return Judgement(support=decision.support, numbers=text, cells=cells)


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A statement with what the results say about it."""

    statement: PaperStatement
    judgement: Judgement


_NAMES = {
    "stand-in": "a stand-in",
    "scaled": "a part of the data, scaled",
    "real": "the whole data",
    "rescaled": "another total",
    UNVERIFIED: "an unverified file",
    OWN: "a file of its own",
}


@dataclass(frozen=True)
class ReferenceValue:
    """A mean SER at epsilon 0.1, to this many digits, on this kind of dataset; with ``below`` a bound on it is known.

    It is printed in the paper where the kind is "real". ``fitted``: the dataset's stand-in was made to have this value.
    """

    dataset: str
    count: int
    method: str
    ser: float
    digits: int
    kind: str
    _: KW_ONLY
    below: bool = False
    fitted: bool = False

    @property
    def printed(self) -> bool:
        return self.kind == "real"

    @property
    def source(self) -> str:
        return "printed in the paper, 100 runs" if self.printed else "independent per-item simulation, 30 runs"

    @property
    def statement(self) -> PaperStatement:
        return PaperStatement(
            key=f"value-{self.dataset}-{self.count}-{self.method}-{self.kind}",
            where="Sec. 6" if self.printed else "our own",
            claim=f"{self.dataset}, c = {self.count}, ε = 0.1: {self.method} has a SER "
            f"{'below' if self.below else 'of'} {self.ser:.{self.digits}f} ({self.source}).",
            rule=f"{'at most that' if self.below else 'equal'} within rounding and four of its own standard errors",
            after_look="at first a bound had no such tolerance; of a mean below 0.05 over 100 runs that was too much"
            if self.below
            else "",
            decide=self.decide,
            kind="printed" if self.printed else "self-check",
        )

    def __str__(self) -> str:
        return f"{'< ' if self.below else ''}{self.ser:.{self.digits}f}"

    def decide(self, findings: Findings) -> Iterator[Decided]:
        """Whether the results agree within rounding; the other side's Monte Carlo error is taken to be like ours."""
        row = findings.get(self.dataset, self.method, self.count, 0.1)
        if row is None:
            return
        kind, mean = findings.datasets[self.dataset]["kind"], rate(row)
        theirs = THEIR_ERRORS * row.ser_std / (100 if self.printed else 30) ** 0.5
        low, high = self.ser - 0.5 * 10**-self.digits - theirs, self.ser + (0 if self.below else 0.5 * 10**-self.digits)
        decision = at_most(mean, high + theirs)
        if not self.below:
            decision = all_of([decision, above(mean, low)])
        interval = f"at most {high + theirs:.3f}" if self.below else f"{low:.3f} to {high + theirs:.3f}"
        numbers = f"SER {mean} where {interval} agrees"
        if kind in ("stand-in", "scaled"):
            numbers += f"; on {_NAMES[kind]}"
        comparable = kind in (("real", "scaled", "stand-in") if self.printed else (self.kind,))
        if not comparable:
            numbers = f"SER {mean}, but on {_NAMES.get(kind, kind)}"
        elif not self.printed and findings.reading != OURS:
            comparable, numbers = False, f"{numbers}, but of another reading"
        elif self.fitted and kind == "stand-in":
            numbers += " that was fitted to this value"
            decision = replace(decision, support=Support.CIRCULAR) if decision.holds else decision
        if not comparable:
            decision = replace(decision, support=Support.NOT_COMPARABLE, wanting={})
        yield from ((place, decision, numbers) for place in (self.dataset, ""))


_FILE = tomllib.loads(files("sparsegate.paper").joinpath("statements.toml").read_text(encoding="utf-8"))

VALUES = tuple(ReferenceValue(**value) for value in _FILE["values"])


def _stated(check: Sequence[Any], combine: str = "all_of", settles: Iterable[str] = (), **texts: str) -> PaperStatement:
    name, *arguments = check
    if name == "pronounced":
        worse, *better = arguments
        keys = ", ".join(key for group in better for key in group)
        texts |= {"needs": f"{worse} and {keys}", "head": f"most ahead of {worse}: "}
    decide = getattr(checks, name)
    return PaperStatement(
        **texts,
        decide=lambda findings: decide(findings, *arguments),
        combine=getattr(decisions, combine),
        settles=tuple(settles),
    )


STATEMENTS = (*(_stated(**row) for row in _FILE["statement"]), *(value.statement for value in VALUES))
"""Every statement, the published values last."""


def check_all(findings: Findings, statements: Iterable[PaperStatement] = STATEMENTS) -> list[Checked]:
    """Check every statement, or those given, and mark what would not be decided if SER may be as low as it can be."""
    return [
        Checked(statement=statement, judgement=_marked(statement.check(findings.seen), statement.check(findings)))
        for statement in statements
    ]


def _marked(seen: Judgement, bounded: Judgement) -> Judgement:
    places = {name: _marked(place, bounded.places[name]) for name, place in seen.places.items()}
    return replace(seen, places=places, short=seen.support is not bounded.support)


def tally(checked: Iterable[Checked]) -> dict[str, Counter[Support]]:
    """How many statements, printed numbers and self-checks there are of each support."""
    counts: dict[str, Counter[Support]] = {kind: Counter() for kind in KINDS}
    for verdict in checked:
        counts[verdict.statement.kind][verdict.judgement.support] += 1
    return counts


def tally_sentence(counts: Mapping[str, Counter[Support]]) -> str:
    """How many were supported, in one sentence."""
    statements, printed, own = (counts[kind] for kind in KINDS)
    depends = statements[Support.DEPENDS]
    parts = [
        f"{statements[Support.SUPPORTED]} of {statements.total()} statements supported",
        f"{statements[Support.NOT_SUPPORTED]} not",
        f"{depends} depend{'s' if depends == 1 else ''} on the reading",
        *(f"{statements[other]} {other.value}" for other in (Support.UNDECIDED, Support.NOT_RUN) if statements[other]),
    ]
    within, fitted = printed[Support.SUPPORTED] + printed[Support.CIRCULAR], printed[Support.CIRCULAR]
    notes = f", of which {fitted} were fitted to" if fitted else ""
    notes += f", {printed[Support.NOT_RUN]} not run" if printed[Support.NOT_RUN] else ""
    compared = sum(own[support] for support in COMPARED)
    return (
        f"{', '.join(parts)}; {within} of {printed.total()} printed numbers within their intervals{notes}; "
        f"{own[Support.SUPPORTED]} of {compared} self-checks met"
    )


@dataclass(kw_only=True)
class OpenStatements:
    """Statements that are run for until all are decided. A look checks those alone that the last one left undecided.

    When none of them is left, all are checked again: runs that were made for one may have moved another.
    """

    statements: Sequence[PaperStatement] = STATEMENTS
    undecided: Sequence[PaperStatement] = STATEMENTS

    def wanting(self, findings: Findings) -> dict[CellKey, float]:
        wanting: dict[str, Mapping[CellKey, float]] = {}
        for statements in (self.undecided, self.statements):
            checked = ((statement.key, statement.check(findings.seen).wanting) for statement in statements)
            if wanting := {key: wanted for key, wanted in checked if wanted}:
                break
        self.undecided = [each for each in self.statements if each.key in wanting] or self.statements
        return most_wanting(wanting.values())


READINGS = "readings"  # the folder of the alternatives, below the results, and the name of the table of their verdicts
_READING_COLUMNS = dict.fromkeys(("statement", "reading", "support", "numbers"), "string") | {"short": "bool_"}
COMPARED = (Support.SUPPORTED, Support.NOT_SUPPORTED, Support.UNDECIDED)


@dataclass(frozen=True, kw_only=True)
class ReadingVerdicts:
    """What the results say under each reading, by its name, of each statement, by its key; ours is the first reading.

    It has the paper's statements, and its printed numbers, that can be judged under some reading.
    """

    by_reading: Mapping[str, Mapping[str, Judgement]]

    @property
    def statements(self) -> list[str]:
        return list(next(iter(self.by_reading.values())))

    @property
    def disputed(self) -> list[str]:
        """The statements whose verdict is not the same under all readings that the paper leaves open."""
        return list(dict.fromkeys(key for reading in self.open for key in self.changes(reading)))

    @property
    def open(self) -> list[str]:
        """The readings that the paper leaves open, and the one that all results are of."""
        ours, *others = self.by_reading
        return [ours, *(name for name in others if PaperReading.named(name).open)]

    def settled(self, each: Checked) -> Checked:
        """A statement with its verdict under all open readings: where some support it, and others not, it depends."""
        if each.statement.key not in self.disputed:
            return each
        by_support: dict[Support, list[str]] = {}
        for reading in self.open:
            by_support.setdefault(self.by_reading[reading][each.statement.key].support, []).append(reading)
        sides = (Support.SUPPORTED, Support.NOT_SUPPORTED)
        if not by_support.keys() >= set(sides):
            return each
        # It is as sure as its less sure side, and that as its surest reading.
        short = any(all(self.by_reading[name][each.statement.key].short for name in by_support[side]) for side in sides)
        rarest = sorted(by_support.items(), key=lambda entry: len(entry[1]))
        readings = "; ".join(f"{support.value}: {', '.join(names)}" for support, names in rarest)
        numbers = f"{readings}. Under ours: {each.judgement.numbers}"
        return replace(each, judgement=replace(each.judgement, support=Support.DEPENDS, numbers=numbers, short=short))

    def changes(self, reading: str) -> dict[str, Support]:
        ours, other = next(iter(self.by_reading.values())), self.by_reading[reading]
        return {
            key: judgement.support
            for key, judgement in other.items()
            if judgement.support not in (ours[key].support, Support.NOT_COMPARABLE)
        }

    @property
    def title(self) -> str:
        same, total = len(self.statements) - len(self.disputed), len(self.statements)
        return f"Readings of the paper: {same} of {total} verdicts are the same under all that it leaves open."

    def write(self, folder: ResultFolder) -> None:
        rows = [
            {**vars(each), "statement": key, "reading": reading, "support": each.support.value}
            for reading, judged in self.by_reading.items()
            for key, each in judged.items()
        ]
        folder.write(READINGS, table(rows, _READING_COLUMNS))

    @classmethod
    def load(cls, out: str | Path) -> ReadingVerdicts | None:
        if not (Path(out) / f"{READINGS}.parquet").is_file():
            return None
        by_reading: dict[str, dict[str, Judgement]] = {}
        for row in read(out, READINGS):
            judgement = Judgement(support=Support(row["support"]), numbers=row["numbers"], short=row["short"])
            by_reading.setdefault(row["reading"], {})[row["statement"]] = judgement
        return cls(by_reading=by_reading)


def judge_readings(out: str | Path) -> ReadingVerdicts:
    """The verdicts of a folder under our reading, and under every alternative that was run there."""
    findings = replace(load_findings(out), uses=())  # which no reading changes
    read_as = {str(findings.reading): findings}
    for reading in ALTERNATIVES if findings.reading == OURS else ():
        if (other := load_reading(out, findings, reading)) is not None:
            read_as[str(reading)] = other
    checked = {
        name: {each.statement: _under(each, other.reading) for each in check_all(other)}
        for name, other in read_as.items()
    }
    shown = [
        statement
        for statement in STATEMENTS
        if statement.kind != "self-check" and any(judged[statement].support in COMPARED for judged in checked.values())
    ]
    return ReadingVerdicts(
        by_reading={name: {each.key: judged[each] for each in shown} for name, judged in checked.items()}
    )


def _under(each: Checked, reading: PaperReading) -> Judgement:
    """What is judged under a reading; the statement itself may leave no choice of what the reading changes."""
    if not settled_by(each.statement, reading):
        return each.judgement
    return Judgement(support=Support.NOT_COMPARABLE, numbers="the statement itself says how it is to be read")


def settled_by(statement: PaperStatement, reading: PaperReading) -> bool:
    """Whether a reading is none of this statement."""
    return any(getattr(reading, switch) != getattr(OURS, switch) for switch in statement.settles)


def load_reading(out: str | Path, findings: Findings, reading: PaperReading) -> Findings | None:
    """The findings under an alternative; None if it was not run with them."""
    part = load_part(Path(out) / READINGS / str(reading), findings)
    return None if part is None else under(findings, reading, part.rows, part.datasets, part.methods)


def under(
    findings: Findings,
    reading: PaperReading,
    rows: Mapping[CellKey, Row],
    datasets: Mapping[str, dict[str, Any]],
    methods: Mapping[str, dict[str, Any]],
) -> Findings:
    """Our findings with the rows, datasets and methods of an alternative in the place of ours."""
    parameters = {**findings.manifest["parameters"], "reading": str(reading)}
    return replace(
        findings,
        rows=as_read(findings.rows | dict(rows), reading),
        manifest={**findings.manifest, "parameters": parameters},
        datasets=findings.datasets | dict(datasets),
        methods=findings.methods | dict(methods),
    )
