"""What an experiment left in its folder, read back for the figures, the statements and the report.

What the results say about a statement: in all, and at each dataset, with the rows that it depends on.

The uses that the paper's Introduction names, as they were measured: rows, their file, and the statement on them.

A use selects the c best of what it scores. Each is measured in four ways: with the original gate at the epsilon that it
claims, with the original at the claim for which it costs that epsilon, with the paper's correct gate, and with the best
that this library has for it. The error is the share of the c best that a run misses, between 0 and 1.
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
from types import MappingProxyType
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


@dataclass(frozen=True)
class VerdictTally:
    """How many statements, printed numbers and self-checks there are of each support."""

    counts: Mapping[str, Counter[Support]]

    def __str__(self) -> str:
        """One sentence.

        >>> counts = {"statement": Counter({Support.SUPPORTED: 2, Support.UNDECIDED: 1})}
        >>> str(VerdictTally({**counts, "printed": Counter({Support.CIRCULAR: 3}), "self-check": Counter()}))
        '2 of 3 statements supported, 1 undecided; 0 of 3 printed numbers comparable; 0 of 0 self-checks met'
        """
        statements = self.counts["statement"]
        parts = [f"{statements[Support.SUPPORTED]} of {statements.total()} statements supported"]
        others = (Support.NOT_SUPPORTED, Support.UNDECIDED, Support.NOT_COMPARABLE, Support.CIRCULAR, Support.NOT_RUN)
        names = {Support.NOT_SUPPORTED: "not"}
        parts += [f"{statements[one]} {names.get(one, one.value)}" for one in others if statements[one]]
        printed, own = self.counts["printed"], self.counts["self-check"]
        met = f", {printed[Support.SUPPORTED]} met" if self.comparable("printed") else ""
        return (
            f"{', '.join(parts)}; {self.comparable('printed')} of {printed.total()} printed numbers comparable{met}; "
            f"{own[Support.SUPPORTED]} of {self.comparable('self-check')} self-checks met"
        )

    def comparable(self, kind: str) -> int:
        """How many of a kind could be compared with the results at all."""
        return sum(self.counts[kind][one] for one in (Support.SUPPORTED, Support.NOT_SUPPORTED, Support.UNDECIDED))


def tally(checked: Iterable[Checked]) -> VerdictTally:
    """How many were supported: "9 of 15 statements supported, ...", a sentence as ``str``."""
    counts: dict[str, Counter[Support]] = {kind: Counter() for kind in KINDS}
    for one in checked:
        counts[one.statement.kind][one.judgement.support] += 1
    return VerdictTally(counts)


CLAIMED, TRUE, CORRECTED, OURS = "original, as claimed", "original, true ε", "corrected SVT", "ours"
MECHANISMS = (CLAIMED, TRUE, CORRECTED, OURS)

FILE = "uses"

USE_COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("use", "data", "mechanism", "way"), "string"),
        **dict.fromkeys(("claimed_epsilon", "true_epsilon"), "float64"),
        "measure": "string",
        **dict.fromkeys(("mean", "std"), "float64"),
        **dict.fromkeys(("runs", "seed"), "int64"),
    }
)
"""The columns of the file, with their PyArrow types."""


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
    ResultFolder.open(out).write(FILE, table([asdict(row) for row in rows], USE_COLUMNS))


def read_uses(out: str | Path, *, seed: int) -> tuple[UseRow, ...]:
    """The rows in the folder of an experiment, or none: those of another seed are of an earlier one."""
    if not (Path(out) / f"{FILE}.parquet").is_file():
        return ()
    rows = [UseRow(**entry) for entry in read(out, FILE)]
    return tuple(row for row in rows if row.seed == seed)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the results, see ``results.COLUMNS``, and the dataset's kind."""

    dataset: str
    kind: str
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
    def of(cls, entry: Mapping[str, Any], kind: str) -> Row:
        """A line of the results, on a dataset of this kind."""
        return cls(kind=kind, **{field.name: entry[field.name] for field in fields(cls) if field.name != "kind"})

    @cached_property
    def cell(self) -> CellKey:
        """Which row it is."""
        return CellKey(self.dataset, self.method, self.epsilon, self.count)

    @property
    def place(self) -> str:
        """The dataset; what is a stand-in, or scaled, is called so."""
        return place(self.dataset, self.kind)

    @property
    def ser_error(self) -> float:
        """The standard error of the mean SER; 0 for a single run, which has no deviation."""
        return float(self.ser_std / self.runs**0.5) if self.runs > 1 else 0.0

    @property
    def total_ser_error(self) -> float:
        """The standard error of the mean total SER; 0 for a single run."""
        return float(self.total_ser_std / self.runs**0.5) if self.runs > 1 else 0.0

    @property
    def fnr_error(self) -> float:
        """The standard error of the mean FNR; 0 for a single run."""
        return float(self.fnr_std / self.runs**0.5) if self.runs > 1 else 0.0


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
        """The dataset's name; what is a stand-in, or scaled, is called so."""
        return place(dataset, str(self.datasets[dataset]["kind"]))

    def get(self, dataset: str, method: str, count: int, epsilon: float | None = None) -> Row | None:
        """One row, at the epsilon of the comparisons unless told."""
        return self.rows.get(CellKey(dataset, method, self.epsilon if epsilon is None else epsilon, count))

    def beside(self, *methods: str) -> dict[str, list[tuple[Row, ...]]]:
        """The rows of these methods side by side, at every c where all are there: by dataset, if it has any."""
        found: dict[str, list[tuple[Row, ...]]] = {}
        for dataset in self.datasets:
            for count in self.counts:
                rows = tuple(row for method in methods if (row := self.get(dataset, method, count)) is not None)
                if len(rows) == len(methods):
                    found.setdefault(dataset, []).append(rows)
        return found

    def keys(self, prefix: str) -> list[str]:
        """The methods of ours whose key begins so: no statement of the paper is about anybody else's."""
        return [key for key, entry in self.methods.items() if key.startswith(prefix) and "source" not in entry]


def place(dataset: str, kind: str) -> str:
    """How a dataset is named beside a number.

    >>> place("kosarak", "stand-in"), place("zipf", "exact")
    ('kosarak (stand-in)', 'zipf')
    """
    return f"{dataset} ({kind})" if kind in NAMED_KINDS else dataset


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
    about = _manifest(folder)
    same = all(about["parameters"][name] == main.manifest["parameters"][name] for name in ("runs", "seed"))
    there, here = (
        {data["name"]: data["fingerprint"] for data in given["datasets"] if data["kind"] != "rescaled"}
        for given in (about, main.manifest)
    )
    return _load(folder, about) if same and there.items() <= here.items() else None


def _load(folder: Path, manifest: dict[str, Any]) -> Findings:
    kinds = {entry["name"]: str(entry["kind"]) for entry in manifest["datasets"]}
    scores: dict[str, list[float]] = {}
    for entry in sorted(read(folder, "scores"), key=lambda entry: int(entry["rank"])):
        scores.setdefault(entry["dataset"], []).append(entry["score"])
    return Findings(
        rows={row.cell: row for entry in read(folder) for row in [Row.of(entry, kinds[entry["dataset"]])]},
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


def _manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(written(folder, "manifest.json").read_text(encoding="utf-8"))
    return found
