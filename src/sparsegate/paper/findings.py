"""What an experiment left in its folder, read back for the figures, the statements and the report.

A *row* is one dataset, method, epsilon and c. A *judgement* is what the rows say about a statement, in all and at each
dataset. A *use* is one that the paper's Introduction names: it selects the c best of what it scores, and is measured in
four ways, with the original gate at the epsilon that it claims, with the original at the claim for which it costs that
epsilon, with the paper's correct gate, and with the best that this library has for it. Its error is the share of the c
best that a run misses, between 0 and 1.
"""

from __future__ import annotations

import enum
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sparsegate.paper.data import NAMED_KINDS
from sparsegate.paper.readings import FURTHER, PaperReading
from sparsegate.paper.results import ResultFolder, read, table, written


class Support(enum.Enum):
    """What the results say about a statement."""

    SUPPORTED = "supported"
    NOT_SUPPORTED = "not supported"
    UNDECIDED = "undecided"
    NOT_COMPARABLE = "not comparable"
    CIRCULAR = "circular"
    NOT_RUN = "not run"


KINDS = ("statement", "printed", "self-check")
"""The paper's statement, a number printed in the paper, or a number of our own independent simulation."""


@dataclass(frozen=True, order=True)
class CellKey:
    """Which row of the results: one dataset, method, epsilon and c."""

    dataset: str
    method: str
    epsilon: float
    count: int


@dataclass(frozen=True, kw_only=True)
class PlaceJudgement:
    """What the results on one dataset say, and the rows it was read off."""

    support: Support
    numbers: str
    cells: tuple[CellKey, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What all results say, the numbers that it depends on, and the same at each dataset.

    ``wanting`` are the rows that need more runs for a decision, and how many times as many: none, once there is one.
    """

    support: Support
    numbers: str
    places: Mapping[str, PlaceJudgement] = field(default_factory=dict)
    wanting: Mapping[CellKey, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PaperStatement:
    """``claim`` is the paper's, in our words; ``rule`` is what counts as support; ``check`` applies it.

    ``kind`` is one of ``KINDS``; ``where`` is the place in the paper.
    """

    key: str
    claim: str
    rule: str
    check: Callable[[Findings], Judgement]
    kind: str = "statement"
    where: str


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A statement with what the results say about it."""

    statement: PaperStatement
    judgement: Judgement


def tally(checked: Iterable[Checked]) -> dict[str, Counter[Support]]:
    """How many statements, printed numbers and self-checks there are of each support."""
    counts: dict[str, Counter[Support]] = {kind: Counter() for kind in KINDS}
    for verdict in checked:
        counts[verdict.statement.kind][verdict.judgement.support] += 1
    return counts


def tally_sentence(counts: Mapping[str, Counter[Support]]) -> str:
    """How many were supported, in one sentence.

    >>> counts = {"statement": Counter({Support.SUPPORTED: 2, Support.UNDECIDED: 1})}
    >>> tally_sentence({**counts, "printed": Counter({Support.CIRCULAR: 3}), "self-check": Counter()})
    '2 of 3 statements supported, 1 undecided; 0 of 3 printed numbers comparable; 0 of 0 self-checks met'
    """
    statements, printed, own = (counts[kind] for kind in KINDS)
    comparable, compared = (
        sum(supports[support] for support in (Support.SUPPORTED, Support.NOT_SUPPORTED, Support.UNDECIDED))
        for supports in (printed, own)
    )
    others = [
        f", {statements[support]} {'not' if support is Support.NOT_SUPPORTED else support.value}"
        for support in Support
        if statements[support] and support is not Support.SUPPORTED
    ]
    met = f", {printed[Support.SUPPORTED]} met" if comparable else ""
    supported = f"{statements[Support.SUPPORTED]} of {statements.total()} statements supported{''.join(others)}"
    return (
        f"{supported}; {comparable} of {printed.total()} printed numbers comparable{met}; "
        f"{own[Support.SUPPORTED]} of {compared} self-checks met"
    )


CLAIMED, TRUE, CORRECTED, OURS = "original, as claimed", "original, true ε", "corrected SVT", "ours"
MECHANISMS = (CLAIMED, TRUE, CORRECTED, OURS)

FILE = "uses"
"""The name of the table of the uses."""


@dataclass(frozen=True, kw_only=True)
class UseRow:
    """One use, mechanism and epsilon: the mean error over runs. ``way`` is what the use calls the mechanism.

    ``epsilon`` is the one that everything is compared at: the original, as claimed, costs more.
    """

    use: str
    data: str
    mechanism: str
    way: str
    claimed_epsilon: float
    true_epsilon: float
    measure: str
    mean: float
    std: float
    runs: int
    seed: int

    @property
    def epsilon(self) -> float:
        """The epsilon that it is compared at: what it costs, but for the original, as claimed."""
        return self.claimed_epsilon if self.mechanism == CLAIMED else self.true_epsilon

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.std / math.sqrt(self.runs) if self.runs > 1 else math.inf


def epsilon_text(epsilon: float) -> str:
    """An epsilon in three digits; there may be none.

    >>> epsilon_text(4.554), epsilon_text(math.inf)
    ('4.55', '∞')
    """
    return "∞" if math.isinf(epsilon) else f"{epsilon:.3g}"


def write_uses(out: str | Path, rows: Sequence[UseRow]) -> None:
    """Write ``uses.csv`` and ``uses.parquet`` into the folder of an experiment."""
    kinds = {"str": "string", "float": "float64", "int": "int64"}  # of PyArrow
    columns = {column.name: kinds[str(column.type)] for column in fields(UseRow)}
    ResultFolder.open(out).write(FILE, table([asdict(row) for row in rows], columns))


def read_uses(out: str | Path, *, seed: int) -> tuple[UseRow, ...]:
    """The rows in the folder of an experiment, or none: those of another seed are of an earlier one."""
    if not (Path(out) / f"{FILE}.parquet").is_file():
        return ()
    return tuple(UseRow(**entry) for entry in read(out, FILE) if entry["seed"] == seed)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the results, see ``results.COLUMNS``."""

    dataset: str
    stand_in: bool
    method: str
    epsilon: float
    count: int
    runs: int
    ser_mean: float
    ser_std: float
    fnr_mean: float
    fnr_std: float
    fpr_mean: float
    total_ser_mean: float
    total_ser_std: float
    selected_mean: float
    seconds: float

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Row:
        """A line of the results; what else it has is left out."""
        return cls(**{field.name: entry[field.name] for field in fields(cls)})

    @cached_property
    def cell(self) -> CellKey:
        """Which row it is."""
        return CellKey(self.dataset, self.method, self.epsilon, self.count)

    def mean(self, measure: str) -> float:
        """The mean of a measure: ser, total_ser or fnr."""
        return float(getattr(self, f"{measure}_mean"))

    def error(self, measure: str = "ser") -> float:
        """The standard error of a mean; 0 for a single run, which has no deviation."""
        return float(getattr(self, f"{measure}_std") / self.runs**0.5) if self.runs > 1 else 0.0

    @property
    def ser_text(self) -> str:
        """The mean SER with its standard error."""
        return f"{self.ser_mean:.3f} ± {self.error():.3f}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Findings:
    """Rows by cell, the highest scores of each dataset, and the manifest.

    ``datasets`` and ``methods`` are the manifest's entries by name and key; methods of further experiments included.
    ``uses`` are the uses of the Introduction, where they were measured.
    """

    rows: dict[CellKey, Row]
    scores: dict[str, list[float]]
    manifest: dict[str, Any]
    datasets: dict[str, dict[str, Any]]
    methods: dict[str, dict[str, Any]]
    uses: tuple[UseRow, ...] = ()

    @property
    def epsilon(self) -> float:
        """The epsilon of the comparisons: the first that was asked for."""
        return float(self.manifest["parameters"]["epsilon"][0])

    @property
    def reading(self) -> PaperReading:
        """How the paper was read."""
        return PaperReading.named(self.manifest["parameters"].get("reading", "ours"))

    @property
    def counts(self) -> list[int]:
        """The values of c, rising."""
        return sorted(self.manifest["parameters"]["counts"])

    def title(self, dataset: str) -> str:
        """The dataset's title; that of a stand-in says so."""
        entry = self.datasets[dataset]
        says_so = not entry["stand_in"] or "stand-in" in entry["title"]
        return str(entry["title"]) if says_so else f"{entry['title']} (stand-in)"

    def place(self, dataset: str) -> str:
        """How a dataset is named beside a number; what is a stand-in, or scaled, is called so."""
        kind = self.datasets[dataset]["kind"]
        return f"{dataset} ({kind})" if kind in NAMED_KINDS else dataset

    def get(self, dataset: str, method: str, count: int, epsilon: float | None = None) -> Row | None:
        """One row, at the epsilon of the comparisons unless told."""
        return self.rows.get(CellKey(dataset, method, self.epsilon if epsilon is None else epsilon, count))

    def beside(self, *methods: str) -> dict[str, list[tuple[Row, ...]]]:
        """The rows of these methods side by side, at every c where all are there: by dataset, if it has any."""
        cases = {
            dataset: [tuple(self.get(dataset, method, count) for method in methods) for count in self.counts]
            for dataset in self.datasets
        }
        whole = {dataset: [rows for rows in found if None not in rows] for dataset, found in cases.items()}
        return {dataset: rows for dataset, rows in whole.items() if rows}  # type: ignore[misc]

    def keys(self, prefix: str) -> list[str]:
        """The methods of ours whose key begins so: no statement of the paper is about anybody else's."""
        return [key for key, entry in self.methods.items() if key.startswith(prefix) and "source" not in entry]


def load_findings(out: str | Path) -> Findings:
    """Read the folder of an experiment, with the further experiments that belong to it."""
    folder = Path(out)
    findings = _load(folder, _manifest(folder))
    rows, methods = findings.rows, findings.methods
    for experiment in FURTHER:
        if (part := load_part(folder / experiment.name, findings)) is not None:
            rows, methods = part.rows | rows, part.methods | methods
    return replace(findings, rows=as_read(rows, findings.reading), methods=methods)


def load_part(folder: Path, main: Findings) -> Findings | None:
    """Read a folder of further rows; None if there is none, or one that does not belong to the main results."""
    if not (folder / "manifest.json").is_file():
        return None
    manifest = _manifest(folder)
    same = all(manifest["parameters"][name] == main.manifest["parameters"][name] for name in ("runs", "seed"))
    own, known = (
        {data["name"]: data["fingerprint"] for data in datasets if data["kind"] != "rescaled"}
        for datasets in (manifest["datasets"], main.datasets.values())
    )
    return _load(folder, manifest) if same and own.items() <= known.items() else None


def _manifest(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(written(folder, "manifest.json").read_text(encoding="utf-8"))
    return manifest


def _load(folder: Path, manifest: dict[str, Any]) -> Findings:
    scores: dict[str, list[float]] = {}
    for entry in sorted(read(folder, "scores"), key=lambda entry: int(entry["rank"])):
        scores.setdefault(entry["dataset"], []).append(entry["score"])
    return Findings(
        rows={row.cell: row for row in map(Row.of, read(folder))},
        scores=scores,
        manifest=manifest,
        datasets={entry["name"]: entry for entry in manifest["datasets"]},
        methods={entry["key"]: entry for entry in manifest["methods"]},
        uses=read_uses(folder, seed=manifest["parameters"]["seed"]),
    )


def as_read(rows: Mapping[CellKey, Row], reading: PaperReading) -> dict[CellKey, Row]:
    """The rows with the SER that a reading means: of mean scores, or of totals."""
    if reading.ser == "means":
        return dict(rows)
    return {cell: replace(row, ser_mean=row.total_ser_mean, ser_std=row.total_ser_std) for cell, row in rows.items()}
