"""The folder of an experiment: finished cases, tables as CSV and Parquet, where they come from; and all read back.

A *case* is one dataset, method, epsilon and c; a *row* is what all its runs say. Finished cases are kept, in files
named by a hash of all that their numbers depend on: an interrupted experiment goes on, and finds no stale case.

A *use* is one that the paper's Introduction names. It selects the c best of what it scores, with the original gate at
the epsilon that it claims, the original at the claim for which it costs that epsilon, the paper's correct gate, and the
best that this library has for it. Its error is the share of the c best that a run misses."""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparsegate.display.plain import amount_text, plain
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Tabular
from sparsegate.errors import ParameterError, load_extra
from sparsegate.paper.data import NAMED_KINDS, Dataset
from sparsegate.paper.methods import AnyMethod
from sparsegate.paper.readings import FURTHER, PaperReading

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure


@dataclass(frozen=True, order=True)
class CellKey:
    """Which row of the results: one dataset, method, epsilon and c."""

    dataset: str
    method: str
    epsilon: float
    count: int


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the results: what all runs of a case say."""

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
    selected_mean: float
    seconds: float
    total_ser_mean: float
    total_ser_std: float
    fpr_mean: float
    fpr_std: float
    ser_least: float

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Row:
        return cls(**{name: entry[name] for name in COLUMNS})

    @cached_property
    def cell(self) -> CellKey:
        return CellKey(self.dataset, self.method, self.epsilon, self.count)

    def mean(self, measure: str) -> float:
        return float(getattr(self, f"{measure}_mean"))

    def error(self, measure: str = "ser") -> float:
        return float(getattr(self, f"{measure}_std") / self.runs**0.5) if self.runs > 1 else 0.0


def columns_of(row: type) -> dict[str, str]:
    """The columns of a table of such rows, with their PyArrow types."""
    kinds = {"str": "string", "float": "float64", "int": "int64", "bool": "bool_"}
    return {column.name: kinds[str(column.type)] for column in fields(row)}


COLUMNS = columns_of(Row)  # the columns of the results, with their PyArrow types: a row for each case

SCORE_COLUMNS = {"dataset": "string", "stand_in": "bool_", "rank": "int64", "score": "float64"}
THRESHOLD = "oracle: the mean of the c-th and the (c+1)-th true score, which is not private"

# The tables that a run, or a comparison, may leave in its folder
WRITTEN = ("results", "scores", "uses", "readings", "winners")

Record = dict[str, float]


@dataclass(frozen=True, eq=False, repr=False)
class ExperimentResults(Tabular):
    """The results of an experiment, a row for each case; ``table`` is a PyArrow table.

    ``for row in found`` gives dicts, ``found[0]`` the first, ``found["ser_mean"]`` a column as a list.
    """

    table: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.table.to_pylist())

    def __getitem__(self, place: int | str) -> Any:
        """A row by its number, or a column by its name."""
        if isinstance(place, str):
            return self.table.column(place).to_pylist()
        return self.table.slice(range(len(self))[place], 1).to_pylist()[0]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def to_dict(self) -> dict[str, Any]:
        """The results as JSON takes them, by the schema "sparsegate/evaluation/1": see docs/reference/json.md."""
        items = [{**plain(row), "epsilon": amount_text(row["epsilon"])} for row in self]
        return {"schema": "sparsegate/evaluation/1", "items": items}

    def to_arrow(self) -> pa.Table:
        """The PyArrow table."""
        return self.table

    def sheet(self) -> Sheet:
        """The results as a table."""
        columns = self.table.to_pydict()
        numbers = frozenset(name for name in columns if name not in ("dataset", "stand_in", "method"))
        return Sheet(title=f"{len(self)} cases; {THRESHOLD}", columns=columns, numbers=numbers)

    def plot(self) -> Figure:
        """The score error rate against c, a panel for each dataset and epsilon, a line for each method."""
        from sparsegate.paper.figures import draw_results

        return draw_results(list(self))


@dataclass(frozen=True, kw_only=True)
class ResultFolder:
    """The folder of an experiment; finished cases are in ``cases`` below it."""

    path: Path

    @classmethod
    def open(cls, folder: str | Path) -> ResultFolder:
        try:
            Path(folder, "cases").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            rule = "must be a folder that can be written"
            raise ParameterError("out", rule, str(folder), str(error.strerror)) from None
        return cls(path=Path(folder))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else runs into the folder meanwhile: rows of one run and verdicts of another would be mixed."""
        place = os.open(self.path, os.O_RDONLY)
        try:
            with suppress(OSError):  # some network file systems have no locks: there it is as it was
                try:
                    fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    step = "wait for it, or choose another folder"
                    raise ParameterError("out", "must not be in use by another run", str(self.path), step) from None
            yield
        finally:
            os.close(place)

    def forget(self, *below: str) -> None:
        """Remove what an earlier run wrote here and in the folders below, but for its finished cases.

        Beside new results it would pass for theirs. What has no manifest of ours is not ours to remove.
        """
        tables = [f"{name}.{kind}" for name in WRITTEN for kind in ("csv", "parquet")]
        for folder in (*(self.path / name for name in below), self.path):
            manifest = folder / "manifest.json"
            if manifest.is_file() and '"threshold"' in manifest.read_text(encoding="utf-8"):
                for name in ("report.html", "results.json", *tables, "manifest.json"):
                    (folder / name).unlink(missing_ok=True)

    def load(self, key: str) -> Record | None:
        try:
            record = json.loads((self.path / "cases" / f"{key}.json").read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return record if isinstance(record, dict) else None

    def save(self, key: str, record: Record) -> None:
        self.write_json(f"cases/{key}", record)

    def write_json(self, name: str, value: object, indent: int | None = None) -> None:
        replace_text(self.path / f"{name}.json", json.dumps(value, indent=indent, ensure_ascii=False) + "\n")

    def write(self, name: str, rows: pa.Table) -> None:
        csv = load_extra("pyarrow.csv", extra="evaluation")
        parquet = load_extra("pyarrow.parquet", extra="evaluation")
        _replace(self.path / f"{name}.csv", lambda path: csv.write_csv(rows, path))
        _replace(self.path / f"{name}.parquet", lambda path: parquet.write_table(rows, path))


def stable_hash(*parts: object) -> str:
    """A hash of some numbers and texts that is the same in every process and on every machine."""
    return hashlib.sha256(json.dumps([str(part) for part in parts]).encode()).hexdigest()


def table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str] = COLUMNS) -> pa.Table:
    """A PyArrow table of the given columns; what else the rows hold is left out."""
    arrow = load_extra("pyarrow", extra="evaluation")
    schema = arrow.schema([(name, getattr(arrow, kind)()) for name, kind in columns.items()])
    return arrow.Table.from_pylist([{name: row[name] for name in columns} for row in rows], schema=schema)


def read(folder: str | Path, name: str = "results") -> ExperimentResults:
    """Read a table back from a folder that ``run`` wrote; its ``name`` is "results" or "scores".

    >>> import tempfile
    >>> from sparsegate import paper
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = paper.run(datasets=["zipf"], counts=[25], methods=["em"], runs=5, out=folder.name)
    >>> paper.read(folder.name)["method"]
    ['em']
    >>> paper.read(folder.name, "scores")[0]
    {'dataset': 'zipf', 'stand_in': False, 'rank': 1, 'score': 102170.02976185846}
    >>> folder.cleanup()
    """
    file = written(Path(folder), f"{name}.parquet")
    return ExperimentResults(load_extra("pyarrow.parquet", extra="evaluation").read_table(file))


def written(folder: Path, name: str) -> Path:
    """A file that ``run`` wrote."""
    if not (folder / name).is_file():
        raise ParameterError("out", f"must hold {name}", str(folder), "run `sparsegate reproduce` first")
    return folder / name


def replace_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    _replace(path, lambda unfinished: unfinished.write_text(text, encoding="utf-8"))


def _replace(path: Path, write_to: Callable[[Path], object]) -> None:
    """Write a file beside its place, then move it there: a reader never sees half of it."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write_to(unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def manifest(
    *, datasets: Iterable[Dataset], methods: Iterable[AnyMethod], parameters: Mapping[str, object]
) -> dict[str, Any]:
    """Everything needed to say what was run, and to run it again."""
    versions = {"python": platform.python_version()}
    for library in ("sparsegate", "numpy", "pyarrow"):
        with suppress(PackageNotFoundError):
            versions[library] = version(library)
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "parameters": dict(parameters),
        "threshold": THRESHOLD,
        "datasets": [data.described for data in datasets],
        "methods": [method.described for method in methods],
        "versions": versions,
        "commit": commit(Path(__file__).parent),
    }


@cache
def commit(folder: Path) -> str | None:
    """The commit of the checkout that holds the folder, "+" added where files differ from it; None outside of one."""
    if not any((parent / ".git").exists() and (parent / "src" / "sparsegate").is_dir() for parent in folder.parents):
        return None
    describe = ["git", "-C", str(folder), "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+"]
    try:
        return subprocess.run(describe, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


CLAIMED, TRUE, CORRECTED, OURS = "original, as claimed", "original, true ε", "corrected SVT", "ours"
MECHANISMS = (CLAIMED, TRUE, CORRECTED, OURS)


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
        return self.std / math.sqrt(self.runs) if self.runs > 1 else math.inf


def epsilon_text(epsilon: float) -> str:
    """An epsilon in three digits; there may be none."""
    return "∞" if math.isinf(epsilon) else f"{epsilon:.3g}"


def read_uses(out: str | Path, *, seed: int) -> tuple[UseRow, ...]:
    """The rows in the folder of an experiment, or none: those of another seed are of an earlier one."""
    if not (Path(out) / "uses.parquet").is_file():
        return ()
    return tuple(UseRow(**entry) for entry in read(out, "uses") if entry["seed"] == seed)


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
        return float(self.manifest["parameters"]["epsilon"][0])

    @property
    def reading(self) -> PaperReading:
        return PaperReading.named(self.manifest["parameters"].get("reading", "ours"))

    @property
    def counts(self) -> list[int]:
        return sorted(self.manifest["parameters"]["counts"])

    def title(self, dataset: str) -> str:
        entry = self.datasets[dataset]
        says_so = not entry["stand_in"] or "stand-in" in entry["title"]
        return str(entry["title"]) if says_so else f"{entry['title']} (stand-in)"

    def place(self, dataset: str) -> str:
        """How a dataset is named beside a number; what is a stand-in, or scaled, is called so."""
        kind = self.datasets[dataset]["kind"]
        return f"{dataset} ({kind})" if kind in NAMED_KINDS else dataset

    def only(self, names: Iterable[str]) -> Findings:
        datasets = {name: self.datasets[name] for name in names}
        return replace(self, datasets=datasets, rows={c: row for c, row in self.rows.items() if c.dataset in datasets})

    @cached_property
    def seen(self) -> Findings:
        """The same, taking no SER to be below 0 that no run has met: what verdicts and runs are decided by."""
        return replace(self, rows={cell: replace(row, ser_least=0.0) for cell, row in self.rows.items()})

    def get(self, dataset: str, method: str, count: int, epsilon: float | None = None) -> Row | None:
        return self.rows.get(CellKey(dataset, method, self.epsilon if epsilon is None else epsilon, count))

    def beside(self, *methods: str) -> dict[str, list[tuple[Row, ...]]]:
        """The rows of these methods side by side, at every c where all are there: by dataset, if it has any."""
        beside: dict[str, list[tuple[Row, ...]]] = {}
        for dataset, count in product(self.datasets, self.counts):
            rows = [row for method in methods if (row := self.get(dataset, method, count))]
            if len(rows) == len(methods):
                beside.setdefault(dataset, []).append(tuple(rows))
        return beside

    def keys(self, prefix: str) -> list[str]:
        """The methods of ours whose key begins so: no statement of the paper is about anybody else's."""
        return [key for key, entry in self.methods.items() if key.startswith(prefix) and "source" not in entry]


def load_findings(out: str | Path) -> Findings:
    """Read the folder of an experiment, with the further experiments that belong to it."""
    findings = _load(Path(out))
    rows, methods = findings.rows, findings.methods
    for experiment in FURTHER:
        if (part := load_part(Path(out) / experiment.name, findings)) is not None:
            rows, methods = part.rows | rows, part.methods | methods
    return replace(findings, rows=as_read(rows, findings.reading), methods=methods)


def load_part(folder: Path, main: Findings) -> Findings | None:
    """Read a folder of further rows; None if there is none, or one that does not belong to the main results."""
    if not (folder / "manifest.json").is_file():
        return None
    part = _load(folder)
    same = all(part.manifest["parameters"][name] == main.manifest["parameters"][name] for name in ("runs", "seed"))
    own, known = (
        {(name, data["fingerprint"]) for name, data in findings.datasets.items() if data["kind"] != "rescaled"}
        for findings in (part, main)
    )
    return part if same and own <= known else None


def _load(folder: Path) -> Findings:
    about = json.loads(written(folder, "manifest.json").read_text(encoding="utf-8"))
    rows = read(folder)
    if lacking := sorted(COLUMNS.keys() - set(rows.table.column_names)):
        rule = f"must hold results of this version; they have no column {', '.join(lacking)}"
        raise ParameterError("out", rule, str(folder), "run `sparsegate reproduce` again")
    scores: dict[str, list[float]] = {}
    for entry in sorted(read(folder, "scores"), key=lambda entry: int(entry["rank"])):
        scores.setdefault(entry["dataset"], []).append(entry["score"])
    return Findings(
        rows={row.cell: row for row in map(Row.of, rows)},
        scores=scores,
        manifest=about,
        datasets={entry["name"]: entry for entry in about["datasets"]},
        methods={entry["key"]: entry for entry in about["methods"]},
        uses=read_uses(folder, seed=about["parameters"]["seed"]),
    )


def as_read(rows: Mapping[CellKey, Row], reading: PaperReading) -> dict[CellKey, Row]:
    """The rows with the SER that a reading means: of mean scores, or of totals."""
    if reading.ser == "means":
        return dict(rows)
    return {
        cell: replace(row, ser_mean=row.total_ser_mean, ser_std=row.total_ser_std, ser_least=0.0)
        for cell, row in rows.items()
    }
