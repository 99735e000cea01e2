"""What an experiment left in its folder, read back for the figures, the statements and the report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sparsegate.evaluation.data.datasets import NAMED_KINDS
from sparsegate.evaluation.experiment.further_experiments import FURTHER
from sparsegate.evaluation.experiment.readings import PaperReading
from sparsegate.evaluation.experiment.results import read, written
from sparsegate.evaluation.statements.judgements import CellKey
from sparsegate.evaluation.statements.use_rows import UseRow, read_uses


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
