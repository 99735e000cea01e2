"""What an experiment leaves in its folder: finished cases, tables as CSV and Parquet, and where they come from.

A case is one dataset, method, epsilon and c. Finished ones are kept, so that an interrupted experiment goes on where it
stopped. The file of a case is named by a hash of everything its numbers depend on: the scores themselves, the noise,
runs and seed; so a changed parameter never finds a stale case.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparsegate.display.plain import amount_text, plain
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Tabular
from sparsegate.errors import ParameterError, load_extra
from sparsegate.paper.data import Dataset
from sparsegate.paper.methods import AnyMethod

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure


_TABLE = {"dataset": "string", "stand_in": "bool_"}
_RATES = (
    *("ser_mean", "ser_std", "fnr_mean", "fnr_std", "selected_mean", "seconds"),
    *("total_ser_mean", "total_ser_std", "fpr_mean", "fpr_std"),
)

COLUMNS: Mapping[str, str] = {
    **_TABLE,
    "method": "string",
    "epsilon": "float64",
    "count": "int64",
    "runs": "int64",
    **dict.fromkeys(_RATES, "float64"),
}
"""The columns of the results, with their PyArrow types: a row for each case."""

RATES = frozenset(_RATES)
"""What the numbers of a finished case are called."""

SCORE_COLUMNS: Mapping[str, str] = {**_TABLE, "rank": "int64", "score": "float64"}
"""The columns of the table of highest scores, for the picture of the datasets."""

THRESHOLD = "oracle: the mean of the c-th and the (c+1)-th true score, which is not private"

WRITTEN = ("results", "scores", "uses", "readings", "winners")
"""The tables that a run, or a comparison, may leave in its folder."""

_LIBRARIES = ("sparsegate", "numpy", "pyarrow")

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
        """Make the folder if need be."""
        path = Path(folder)
        try:
            (path / "cases").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ParameterError(
                "out", "must be a folder that can be written", str(folder), str(error.strerror)
            ) from None
        return cls(path=path)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else runs into the folder meanwhile: rows of one run and verdicts of another would be mixed."""
        place = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if isinstance(error, BlockingIOError):
                os.close(place)
                step = "wait for it, or choose another folder"
                raise ParameterError("out", "must not be in use by another run", str(self.path), step) from None
            # Some network file systems have no locks: there it is as it was.
        try:
            yield
        finally:
            os.close(place)

    def forget(self, *below: str) -> None:
        """Remove what an earlier run wrote here and in the folders below, but for its finished cases.

        Beside new results it would pass for theirs. What has no manifest of ours is not ours to remove.
        """
        for folder in (*(self.path / name for name in below), self.path):
            manifest = folder / "manifest.json"
            if not manifest.is_file() or '"threshold"' not in manifest.read_text(encoding="utf-8"):
                continue
            tables = (f"{name}.{kind}" for name in WRITTEN for kind in ("csv", "parquet"))
            for name in ("report.html", "results.json", *tables, "manifest.json"):
                (folder / name).unlink(missing_ok=True)

    def load(self, key: str) -> Record | None:
        """The numbers of a finished case, or None."""
        try:
            record = json.loads(self._file(key).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return record if isinstance(record, dict) else None

    def save(self, key: str, record: Record) -> None:
        """Keep the numbers of a case."""
        replace_text(self._file(key), json.dumps(record))

    def write_json(self, name: str, value: object, indent: int | None = None) -> None:
        """Write ``name``.json, whole or not at all."""
        replace_text(self.path / f"{name}.json", json.dumps(value, indent=indent, ensure_ascii=False) + "\n")

    def write(self, name: str, rows: pa.Table) -> None:
        """Write ``name``.csv and ``name``.parquet, each whole or not at all."""
        csv = load_extra("pyarrow.csv", extra="evaluation")
        parquet = load_extra("pyarrow.parquet", extra="evaluation")
        _replace(self.path / f"{name}.csv", lambda path: csv.write_csv(rows, path))
        _replace(self.path / f"{name}.parquet", lambda path: parquet.write_table(rows, path))

    def _file(self, key: str) -> Path:
        return self.path / "cases" / f"{key}.json"


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
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "parameters": dict(parameters),
        "threshold": THRESHOLD,
        "datasets": [data.described for data in datasets],
        "methods": [method.described for method in methods],
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in _LIBRARIES}},
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


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None
