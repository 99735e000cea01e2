"""What a comparison leaves: a row for each case with standard errors, and the winners of each cell.

In a folder: results.csv and results.parquet, winners.csv and winners.parquet, results.json, manifest.json.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparsegate.display.plain import amount_text, plain
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Tabular
from sparsegate.errors import load_extra
from sparsegate.evaluation.comparison.contestants import LEAGUES, true_epsilon
from sparsegate.evaluation.comparison.winners import FALSE_MAP, CellPlaces, tallied
from sparsegate.evaluation.experiment.results import THRESHOLD, ResultFolder, manifest, replace_text, table, written
from sparsegate.evaluation.statements.decisions import MARGIN
from sparsegate.evaluation.supplied_methods import SuppliedMethod

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from sparsegate.evaluation.experiment.grids import ExperimentGrid
    from sparsegate.evaluation.experiment.rounds import Gathered
    from sparsegate.evaluation.statements.judgements import CellKey

_RATES = ("fnr", "precision", "ser", "total_ser")

COLUMNS: Mapping[str, str] = {
    "dataset": "string",
    "stand_in": "bool_",
    "method": "string",
    "epsilon": "float64",
    "true_epsilon": "float64",
    "delta": "float64",
    "count": "int64",
    "runs": "int64",
    **{f"{rate}_{what}": "float64" for rate in _RATES for what in ("mean", "error")},
    "selected_mean": "float64",
    "seconds": "float64",
}
"""The columns of the results, with their PyArrow types. An ``error`` is a standard error.

``true_epsilon`` is empty for a method that is not ours: what it costs is what it says, and nobody has checked it.
``precision`` is the share of the selected that belong to the top c; ``seconds`` are those of one selection among all
scores, empty where nobody can release what the method selects.
"""

WINNER_COLUMNS: Mapping[str, str] = {
    "dataset": "string",
    "league": "string",
    "epsilon": "float64",
    "count": "int64",
    "winners": "string",
    "undecided": "string",
    "best": "float64",
}
"""The columns of the winners; several names have a space between."""


@dataclass(frozen=True, kw_only=True)
class WonCell:
    """The places of a league at one dataset, epsilon and c."""

    dataset: str
    league: str
    epsilon: float
    count: int
    standing: CellPlaces

    def row(self) -> dict[str, Any]:
        """The row of the table of winners."""
        names = ("dataset", "league", "epsilon", "count")
        return {name: getattr(self, name) for name in names} | {
            "winners": " ".join(self.standing.winners),
            "undecided": " ".join(self.standing.undecided),
            "best": self.standing.best,
        }


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ComparisonResults(Tabular):
    """A row for each case in ``table``; ``winners`` has a cell for each league, dataset, epsilon and c.

    ``titles`` are those of methods and datasets by their keys; ``by`` is the error that decided.
    """

    table: pa.Table
    winners: Sequence[WonCell]
    titles: Mapping[str, str]
    by: str
    sigmas: float

    @classmethod
    def of(
        cls,
        grid: ExperimentGrid,
        gathered: Mapping[CellKey, Gathered],
        winners: Sequence[WonCell],
        seconds: Mapping[tuple[str, str, int], float],
        *,
        by: str,
        sigmas: float,
    ) -> ComparisonResults:
        """The results of a comparison that was run; ``seconds`` are those of a release by dataset, method and c."""
        rows = [
            _row(one, grid.datasets[cell.dataset].stand_in, seconds.get((cell.dataset, cell.method, cell.count)))
            for cell, one in gathered.items()
        ]
        titles = {name: dataset.title for name, dataset in grid.datasets.items()}
        return cls(
            table=table(rows, COLUMNS),
            winners=winners,
            titles=titles | {method.key: method.title for method in grid.methods},
            by=by,
            sigmas=sigmas,
        )

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.table.to_pylist())

    def to_arrow(self) -> pa.Table:
        """The PyArrow table."""
        return self.table

    def _columns(self) -> dict[str, list[Any]]:
        return dict(self.table.to_pydict())  # dataframes have the cases; the sheet only counts winners

    def to_dict(self) -> dict[str, Any]:
        """The results as JSON takes them, by the schema "sparsegate/comparison/1": see docs/reference/json.md."""
        return {
            "schema": "sparsegate/comparison/1",
            "by": self.by,
            "margin": MARGIN,
            "false_map": FALSE_MAP,
            "items": [{**plain(row), "epsilon": amount_text(row["epsilon"])} for row in self],
            "winners": [
                {
                    **plain({**cell.row(), "winners": cell.standing.winners, "undecided": cell.standing.undecided}),
                    "epsilon": amount_text(cell.epsilon),
                }
                for cell in self.winners
            ],
        }

    @property
    def unchecked(self) -> list[str]:
        """The methods that take part and are not ours: that they are private is their word alone."""
        supplied = {row["method"] for row in self if row["true_epsilon"] is None}
        placed = [key for cell in self.winners for key in (*cell.standing.winners, *cell.standing.undecided)]
        return [key for key in dict.fromkeys(placed) if key in supplied]

    def league(self, key: str) -> list[WonCell]:
        """The cells of one league."""
        return [cell for cell in self.winners if cell.league == key]

    def sheet(self) -> Sheet:
        """Who wins how many cells of which league."""
        rows = [
            (league.title, self.titles[key], alone, tied)
            for league in LEAGUES
            for key, (alone, tied) in tallied(cell.standing for cell in self.league(league.key)).items()
        ]
        columns = dict(zip(("league", "method", "alone", "tied"), zip(*rows, strict=True), strict=True)) if rows else {}
        return Sheet(
            title=f"winners of {len(self.winners)} cells; {THRESHOLD}",
            columns=columns,
            numbers=frozenset({"alone", "tied"}),
        )

    def plot(self) -> Figure:
        """Who wins where: a map of c and epsilon for each dataset."""
        from sparsegate.evaluation.comparison.winner_maps import draw_maps

        return draw_maps(self, LEAGUES[0])


def _row(found: Gathered, stand_in: bool, release: float | None) -> dict[str, Any]:
    case, method, record = found.case, found.case.method, found.record
    supplied = isinstance(method, SuppliedMethod)
    row = {
        "dataset": case.dataset,
        "stand_in": stand_in,
        "method": method.key,
        "epsilon": float(case.epsilon),
        "true_epsilon": None if supplied else true_epsilon(method, case.count, float(case.epsilon)),
        "delta": float(method.delta),
        "count": case.count,
        "runs": found.runs,
        "selected_mean": record["selected_mean"],
        "seconds": record["seconds"] / found.runs if supplied else release,
    }
    for rate in _RATES:
        source = "fpr" if rate == "precision" else rate
        row[f"{rate}_mean"] = 1 - record["fpr_mean"] if rate == "precision" else record[f"{rate}_mean"]
        row[f"{rate}_error"] = record[f"{source}_std"] / math.sqrt(found.runs)
    return row


def write_comparison(
    folder: ResultFolder, found: ComparisonResults, grid: ExperimentGrid, **parameters: object
) -> None:
    """Write all files but the report."""
    folder.write("results", found.table)
    folder.write("winners", table([cell.row() for cell in found.winners], WINNER_COLUMNS))
    replace_text(folder.path / "results.json", json.dumps(found.to_dict(), ensure_ascii=False) + "\n")
    shown = {**grid.parameters(), "by": found.by, **parameters}
    about = manifest(datasets=grid.datasets.values(), methods=grid.methods, parameters=shown)
    about["margin"], about["false_map"], about["sigmas"] = MARGIN, FALSE_MAP, found.sigmas
    replace_text(folder.path / "manifest.json", json.dumps(about, indent=2, ensure_ascii=False) + "\n")


def read_comparison(folder: str | Path) -> ComparisonResults:
    """Read back what ``compare`` wrote into a folder."""
    path = Path(folder)
    about = json.loads(written(path, "manifest.json").read_text(encoding="utf-8"))
    parquet = load_extra("pyarrow.parquet", extra="evaluation")
    places = parquet.read_table(written(path, "winners.parquet")).to_pylist()
    cells = [
        WonCell(
            **{name: row[name] for name in ("dataset", "league", "epsilon", "count")},
            standing=CellPlaces(
                winners=tuple(row["winners"].split()),
                behind=(),
                undecided=tuple(row["undecided"].split()),
                unsure={},
                best=row["best"],
            ),
        )
        for row in places
    ]
    titles = {entry["name"]: entry["title"] for entry in about["datasets"]}
    return ComparisonResults(
        table=parquet.read_table(written(path, "results.parquet")),
        winners=cells,
        titles=titles | {entry["key"]: entry["title"] for entry in about["methods"]},
        by=about["parameters"]["by"],
        sigmas=about["sigmas"],
    )
