"""The public candidates: what may be selected, fixed without a look at the private table.

Candidates that the table does not mention have the score zero, and leaving them out would tell that nobody has them.
They are never listed: the mechanism sees them as one group, and a rank drawn for it is turned into a name here. A
*listed* domain is sorted by label once the candidates with a score are taken away, in the engine. A *sized* domain 0,
1, ..., n-1 is searched digit by digit, in base 4096: the engine counts the candidates with a score in each block of
4096**k numbers, so the counts say in which block the rank lies. A billion candidates take three such queries. The rank
is drawn uniformly before, so every candidate without a score is equally likely, whatever order is used.

Candidates may be in a public file (``pages.csv``, or ``pages.csv:path``): its labels become what the items of the table
are, whole numbers or strings, by a rule that looks at types alone.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np

from sparsegate.errors import ParameterError, SparsegateWarning, TableError
from sparsegate.tables.columns import as_labels, check_columns, identifier, label_kind
from sparsegate.tables.engine_errors import quiet, raise_alone
from sparsegate.tables.engines.engine import Engine, Frame, open_engine
from sparsegate.tables.files import DATABASES, expand, kind_of
from sparsegate.tables.labels import BINARY, FLOAT, INTEGER, OBJECTS, STRING, Cell, LabelKind
from sparsegate.tables.python_tables import is_table
from sparsegate.tables.text_files import NO_TEXT
from sparsegate.tables.workspace import Workspace

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation


Taken: TypeAlias = Callable[[int, Sequence[int] | None], dict[int, int]]
"""How many candidates with a score each block of a width has; in some blocks only, BASE times as wide, where given."""

BASE: Final = 4096
MOST_CANDIDATES: Final = 2**53
"""Engines that divide in floats divide numbers up to here exactly by a power of two."""
MOST_LISTED: Final = 10**7
"""More candidates are not written out, where numbers from 0 on stand for labels that are no whole numbers."""
CHANGED: Final = "the engine counted the same rows differently a second time; make sure nobody writes to the table"

_EMPTY: Final = "must hold at least one candidate"
_POINTED: Final = (
    "item LIKE '%.0%' AND item NOT LIKE '-.%' AND trim(TRAILING '0' FROM item) LIKE '%_.' "
    "AND translate(item, '0123456789', '') IN ('.', '-.')"
)
"""SQL for text such as 17.0 or -5.00; it has no regular expression, of which every engine has another dialect."""

EXPLAINED: Final = (
    "must say which items may be selected, because the list of items seen in the table is private data",
    'pass a public list, series, table, pathlib.Path or number of candidates, or domain="observed" with delta > 0, '
    "which hides rare items and may return fewer",
)


@dataclass(frozen=True, kw_only=True)
class Sized:
    """The whole numbers from 0 to size - 1."""

    size: int

    def restrict(self, rows: Frame) -> Frame:
        return rows.where(f"item BETWEEN 0 AND {self.size - 1}")

    def absent(self, engine: Engine, counts: Frame, ranks: Sequence[int]) -> list[Any]:
        """The candidates without a row in ``counts`` that have the given ranks, from 0, among all of those."""

        def taken(width: int, inside: Sequence[int] | None) -> dict[int, int]:
            # The widths are powers of two.
            narrow, wide = width.bit_length() - 1, (width * BASE).bit_length() - 1
            blocks = counts.select(f"item >> {narrow} AS block", f"item >> {wide} AS wide")
            chosen = blocks if inside is None else engine.among(blocks, "wide", inside)
            return dict(engine.rows(chosen.group("block", taken="count(*)")))

        return self.find(ranks, taken)

    def find(self, ranks: Sequence[int], taken: Taken) -> list[Any]:
        """The candidates without a score that have the given ranks; ``taken`` counts those with one."""
        width = 1
        while width * BASE < self.size:
            width *= BASE
        starts, left = np.zeros(len(ranks), dtype=np.int64), np.array(ranks, dtype=np.int64)
        inside: list[int] | None = None
        while True:
            counted = taken(width, inside)
            for start in np.unique(starts).tolist():
                within = starts == start
                begin = np.arange(start, min(start + width * BASE, self.size), width)
                free = np.minimum(width, self.size - begin)
                free -= np.array([counted.get(block, 0) for block in (begin // width).tolist()], dtype=np.int64)
                reached = np.cumsum(free)
                if int(left[within].max()) >= int(reached[-1]):
                    raise TableError(CHANGED)
                block = np.searchsorted(reached, left[within], side="right")
                starts[within], left[within] = begin[block], left[within] - (reached - free)[block]
            if width == 1:
                return cast("list[Any]", starts.tolist())
            inside = np.unique(starts // width).tolist()
            width //= BASE


@dataclass(frozen=True, kw_only=True)
class Listed:
    """The different labels in a public frame (item) of the table's own engine."""

    frame: Frame
    size: int
    originals: Mapping[Cell, Any] | None = None
    """The labels as they were passed, by their cells, where the type of the column does not tell them."""

    def restrict(self, rows: Frame) -> Frame:
        return rows.join(self.frame, "item", how="semi")

    def absent(self, engine: Engine, counts: Frame, ranks: Sequence[int]) -> list[Any]:
        free = engine.numbered(self.frame.join(counts, "item", how="anti"), "item")
        named = dict(engine.rows(engine.among(free, "index", list(ranks)).select("index", "item")))
        if len(named) != len(ranks):
            raise TableError(CHANGED)
        return [named[rank] for rank in ranks]


Domain: TypeAlias = Sized | Listed


def public_domain(engine: Engine, domain: Any, *, item: str, kind: LabelKind) -> Domain:
    """The domain in the table's engine; ``kind`` is what the table's items are. Labels that come twice count once."""
    domain = _public(domain, item, kind)
    if isinstance(domain, Sized):
        return domain
    other = engine.beside(domain) if is_table(domain) else None
    if other is not None and kind is not OBJECTS and engine.joins(other):
        labels, theirs = _labels_of(other, item)
        if theirs is kind:
            return _listed(engine, engine.candidates(labels), kind)
    cells = _cells(domain, other, item, kind)
    return _listed(engine, engine.bring({"item": sorted(cells)}), kind, cells if kind is OBJECTS else None)


def label_reader(domain: Domain | None, kind: LabelKind) -> Callable[[Cell], Any]:
    """What makes a label of a cell: the one that was passed, or else what the column's type says."""
    originals = domain.originals if isinstance(domain, Listed) else None
    return kind.read if originals is None else originals.__getitem__


def public_labels(domain: Any, *, item: str, kind: LabelKind) -> Sized | list[Cell]:
    """The domain for an engine that takes no frames: sized, or the sorted list of its cells."""
    domain = _public(domain, item, kind)
    if isinstance(domain, Sized):
        return domain
    cells = sorted(_cells(domain, open_engine(domain) if is_table(domain) else None, item, kind))
    texts = list(map(str, cells)) if kind is STRING else []
    pointed = sum(bool(re.fullmatch(r"-?[0-9]+[.]0+", text)) for text in texts)
    _warn(len(cells), sum(text != text.strip() for text in texts), pointed)
    return cells


def _public(domain: Any, item: str, kind: LabelKind) -> Any:
    # A string is no path: one that came from a stranger must not open a file.
    if isinstance(domain, bool | str | bytes) or domain is None:
        raise ParameterError("domain", EXPLAINED[0], domain, EXPLAINED[1])
    if isinstance(domain, os.PathLike):
        return read_labels(domain, item=item, kind=kind)
    if isinstance(domain, range) and domain and domain == range(len(domain)) and kind is INTEGER:
        domain = len(domain)
    if not isinstance(domain, int | np.integer):
        return domain
    most, shown = (MOST_CANDIDATES, "2**53") if kind is INTEGER else (MOST_LISTED, f"{MOST_LISTED:,} of {kind}")
    if not 1 <= domain <= most:
        raise ParameterError("domain", f"must be a number of candidates from 1 to {shown}", domain)
    if kind not in (INTEGER, FLOAT, OBJECTS):
        rule = f"must not be a number where items are {kind}: it stands for the labels 0, 1, ..., n-1"
        raise ParameterError("domain", rule, domain, "pass the list of candidates")
    return Sized(size=int(domain)) if kind is INTEGER else range(int(domain))


def _labels_of(other: Engine, item: str) -> tuple[Frame, LabelKind]:
    column = other.names[0] if len(other.names) == 1 else item
    check_columns(other.names, [column])
    kind = label_kind(other.types[column], column)
    rows = other.select({"item": column}).drop_nulls()
    if kind is INTEGER and (cell := rows.collect_schema()["item"].cell).startswith("TRY_CAST"):
        ((lost,),) = other.rows(rows.where(f"{cell.format('item')} IS NULL").select("count(*)"))
        if lost:
            raise ParameterError("domain", "must hold whole numbers of 64 bits", next_step="convert its labels")
    return as_labels(rows, kind), kind


def _cells(domain: Any, other: Engine | None, item: str, kind: LabelKind) -> dict[Cell, Any]:
    if other is not None:
        labels, theirs = _labels_of(other, item)
        domain = [theirs.read(cell) for (cell,) in other.rows(labels.group("item"))]
    try:
        if isinstance(domain, set | frozenset):  # in one order, so that of labels with one cell the same is first
            domain = sorted(domain, key=lambda label: (type(label).__name__, str(label)))
        cells = kind.cells(domain)
    except TypeError:
        raise ParameterError("domain", EXPLAINED[0], domain, EXPLAINED[1]) from None
    if not cells:
        raise ParameterError("domain", _EMPTY)
    return cells


def _listed(engine: Engine, labels: Frame, kind: LabelKind, originals: Mapping[Cell, Any] | None = None) -> Listed:
    # The labels are public, and so is the type of the column. Whether an item is written like them is private.
    unlike = ("item LIKE ' %' OR item LIKE '% '", _POINTED) if kind in (STRING, OBJECTS) else ()
    ((size, *odd),) = engine.rows(labels.select("count(*)", *(f"count_if({each})" for each in unlike)))
    if size == 0:
        raise ParameterError("domain", _EMPTY)
    _warn(size, *odd)
    return Listed(frame=labels, size=int(size), originals=originals)


def _warn(size: int, *unlike: int) -> None:
    looks = ("begin or end with a space", "are whole numbers that end in .0, and the items are text")
    for labels, look in zip(unlike, looks, strict=False):
        if labels:
            text = f"{labels} of the {size} labels of the domain {look}; labels match items that are written alike"
            warnings.warn(text, SparsegateWarning, stacklevel=2)


def whole_labels(domain: Any) -> bool:
    """Whether the public labels are whole numbers, and not text."""
    if isinstance(domain, list | tuple | set | frozenset):
        return bool(domain) and all(whole_labels(label) for label in domain)
    kind = getattr(domain, "dtype", None)  # of an array or a series, of whatever library
    whole = isinstance(domain, int | range) or (kind is not None and "int" in str(kind).lower())
    return whole and not isinstance(domain, bool)


def read_labels(
    domain: os.PathLike[str], *, item: str, kind: LabelKind = STRING, parameter: str = "domain"
) -> list[Any]:
    """The labels in a public file, in its order: whole numbers or strings, or for objects as the file has them."""
    own = {INTEGER: "BIGINT", FLOAT: "DOUBLE", BINARY: "BLOB", OBJECTS: ""}.get(kind, "VARCHAR")
    try:
        with Workspace(ordered=True) as workspace, quiet(f"the {parameter} cannot be read"):
            labels = file_labels(workspace, os.fspath(domain), item=item, kind=own, parameter=parameter)
            if kind is not OBJECTS:
                return [label for (label,) in labels.fetchall()]
            cells, theirs = _labels_of(open_engine(labels), "label")
            return [theirs.read(cell) for (cell,) in cells.native.fetchall()]
    except TableError as error:
        raise_alone(ParameterError(parameter, f"must be a public file that can be read: {error}", os.fspath(domain)))


def file_labels(
    workspace: Workspace, domain: str, *, item: str, kind: str, parameter: str = "domain"
) -> DuckDBPyRelation:
    """The labels as a relation of one column, of the SQL type ``kind`` (one of whole numbers), their own ("") or text.

    The column is the one named behind a colon, the only one of the file, or the one called like the item.
    """
    file, column = split_column(domain)
    try:
        kinds = {kind_of(name) for name in expand([file])}
        if kinds & {*DATABASES}:
            raise ParameterError(parameter, "must be a file of labels, not a database", file, "export the column first")
        public = workspace.open([file], columns=[column] if column and kinds == {"CSV"} else None)
    except TableError as error:  # encoding= is that of the data, and would not help
        raise_alone(TableError(str(error).replace(NO_TEXT, "save it in UTF-8")))
    names = public.columns
    column = column or (names[0] if len(names) == 1 else item)
    if column not in names:
        hint = f"write {file}:COLUMN with one of {', '.join(names[:9])}"
        raise ParameterError(parameter, f"must name a column of {file}", column, hint)
    # As text a float of 32 bits has only the digits that tell it from other such floats, and bytes are escaped.
    own = str(public.types[names.index(column)])
    exact = "CAST(held AS DOUBLE)" if own == "FLOAT" and kind in ("FLOAT", "DOUBLE") else "held"
    exact = "lower(hex(held))" if own == kind == "BLOB" else exact
    whole = kind.endswith("INT") or kind == "INTEGER"
    label = whole_numbers("held", kind) if whole else f"CAST({exact} AS VARCHAR)" if kind else "held"
    held = public.select(f"{identifier(column)} AS held, {label} AS label").filter("held IS NOT NULL")
    with quiet(f"{file} cannot be read"):
        ((lost,),) = held.aggregate("count(*) - count(label)").fetchall()
    if lost:
        raise ParameterError(parameter, f"must hold values of the item's type, {kind}", next_step="convert them")
    return held.select("label")


def whole_numbers(held: str, kind: str = "BIGINT") -> str:
    """SQL for text as whole numbers, null where it is none: a plain cast would make 2 of '1.7' and 1000 of '1e3'."""
    return f"TRY_CAST(nullif(regexp_extract(CAST({held} AS VARCHAR), '^\\s*([+-]?[0-9]+)\\s*$', 1), '') AS {kind})"


def split_column(domain: str) -> tuple[str, str]:
    """The file and the name of the column; the latter is empty where none is given.

    >>> split_column("pages.csv:path"), split_column("pages.csv")
    (('pages.csv', 'path'), ('pages.csv', ''))
    """
    file, colon, column = domain.rpartition(":")
    return (file, column) if colon and not Path(domain).exists() else (domain, "")
