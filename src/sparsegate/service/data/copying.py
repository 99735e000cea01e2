"""Copying the table that is served: which columns, as what types, cut to a public length, the people as numbers.

What is copied, and how, is told from the schema of the table, which is public, and from what the owner asked for. Every
column is kept twice: in the table ``SERVED``, row by row, and as *values and codes*: its different values in a table,
filled up with those of all columns of the same size, and for each row the place of its value there (``constant_work``).
``copy_files`` or ``copy_rows`` reads all that is needed, and ``fill`` makes of it what is counted, because the sizes
that the copy is filled up to are drawn, and paid for, in between.

**Characters**: text columns are filled up by a uniform draw of as many of each width as ``CELLS`` cells have, because
``lower`` takes ten times as long for é as for e (docs/explanation/proofs_in_words/ledger.md). **Declared types**, such
as ``note=timestamptz``: a cell that is written as a value of its type is that value, and every other one is null. The
form is checked by a pattern first, so nobody looks for the name of a zone. **Cells** as ``city=3``: ``rows_of_cells``.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sparsegate.conditions import Column, Kind, Schema
from sparsegate.conditions.condition import READ_AS
from sparsegate.errors import ParameterError, TableError
from sparsegate.noise import Source, uniform_below
from sparsegate.service.data.constant_work import Coded, Copy, last_rows
from sparsegate.service.data.postgres_rows import FetchedRows, fetch_rows
from sparsegate.service.data.sizes import ROWS, TEXT, Size, public_size, values_of
from sparsegate.tables.columns import check_columns, identifier, unlike
from sparsegate.tables.workspace import Workspace, without_bar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

    from sparsegate.service.data.dataset import TableSource

CELLS: Final = 256
WIDTHS: Final = ("a", "é", "ก", "😀")  # a character of one byte, of two, of three, of four
_FROM: Final = (0x80, 0x800, 0x10000, 0x110000)


def width_counts(cell: str) -> list[str]:
    """As SQL: how many characters of each width a text has."""
    several = [
        rf"length(regexp_replace({cell}, '[^\x{{{low:X}}}-\x{{{high - 1:X}}}]', '', 'g'))"
        for low, high in pairwise(_FROM)
    ]
    plain = f"strlen({cell}) = length({cell})"
    in_bytes = " - ".join([f"length({cell})", *several])
    return [
        f"CASE WHEN {plain} THEN length({cell}) ELSE {in_bytes} END",
        *(f"CASE WHEN {plain} THEN 0 ELSE {each} END" for each in several),
    ]


def drawn_characters(counted: Sequence[int], max_cell: int, source: Source) -> list[int]:
    """How many characters of each width a text column has when it is filled up."""
    return [count + uniform_below(source, CELLS * max_cell + 1) for count in counted]


def filling_cells(added: Sequence[int], max_cell: int) -> list[tuple[str, int]]:
    """The cells that have these characters of each width, each as a character and how many of it.

    >>> filling_cells([0, 2_000, 1, 0], 1_000)
    [('é', 1000), ('é', 1000), ('ก', 1)]
    """
    return [
        (character, min(max_cell, count - done))
        for character, count in zip(WIDTHS, added, strict=True)
        for done in range(0, count, max_cell)
    ]


SERVED: Final = "memory.main.served"
OWNERS: Final = "memory.main.owners"

_COPIED: Final = {
    # Before it is cut: a cast alone would keep a collation, and then 'A' and 'a' might be equal.
    Kind.TEXT: 'left({}, {{max_cell}}) COLLATE "C"',
    # Two zeros that are equal and print differently must not stand for one another: adding 0 leaves one of them.
    Kind.REAL: "{} + 0",
    Kind.TIMESTAMP: "TRY({})",
}
_CASTS: Final = {
    kind: (meant, _COPIED.get(meant, "{}").format(form.replace("{}", "{0}"))) for kind, (meant, form) in READ_AS.items()
}
"""By the engine's type: the kind, and how a cell is copied, which is how a condition reads it elsewhere."""

# Two floats that are told apart may be one person, and not-a-number is nobody.
_PEOPLE: Final = {*_CASTS, "blob"} - {"float", "double"}


_DAY: Final = r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_TIME: Final = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?"
_MOMENT: Final = f"{_DAY}(?:[ T]{_TIME})?"
_NUMBER: Final = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_TRUTH: Final = "(?i:true|false|t|f|yes|no|y|n|1|0)"
_OFFSET: Final = r"(?: ?(?:Z|UTC|([+-])([01][0-9]):?([0-5][0-9])?))?"


def _written(form: str, group: int = 1, rest: str = "") -> str:
    """What the cell has of the form, or null; white space around it is no part of it."""
    pattern = rf"^\s*({form}){rest}\s*$".replace("{", "{{").replace("}", "}}")
    return f"nullif(regexp_extract(CAST({{0}} AS VARCHAR), '{pattern}', {group}), '')"


def _zoned() -> str:
    """In UTC; without a cast to a type with a zone, which would look for one by its name."""
    sign, hours, minutes = (_written(_MOMENT, group, _OFFSET) for group in (2, 3, 4))
    away = f"60 * coalesce(CAST({hours} AS INTEGER), 0) + coalesce(CAST({minutes} AS INTEGER), 0)"
    signed = f"CASE WHEN {sign} = '-' THEN -1 ELSE 1 END * ({away})"
    return f"TRY(TRY_CAST({_written(_MOMENT, rest=_OFFSET)} AS TIMESTAMP) - to_minutes({signed}))"


_REAL: Final = (Kind.REAL, f"TRY_CAST({_written(_NUMBER + '|[+-]?(?i:inf|infinity|nan)')} AS DOUBLE) + 0")
_WHOLE: Final = (Kind.INTEGER, f"TRY_CAST({_written('[+-]?[0-9]+')} AS BIGINT)")
TYPES: Final[dict[str, tuple[Kind, str]]] = {
    "integer": _WHOLE,
    "bigint": _WHOLE,
    "double": _REAL,
    # A decimal is compared as a real, so it is read as the nearest one.
    "decimal": (Kind.REAL, f"TRY_CAST({_written(_NUMBER)} AS DOUBLE) + 0"),
    "boolean": (Kind.BOOLEAN, f"TRY_CAST({_written(_TRUTH)} AS BOOLEAN)"),
    "date": (Kind.DATE, f"TRY_CAST({_written(_DAY)} AS DATE)"),
    "time": (Kind.TIME, f"TRY_CAST({_written(_TIME)} AS TIME)"),
    "timestamp": (Kind.TIMESTAMP, f"TRY_CAST({_written(_MOMENT)} AS TIMESTAMP)"),
    "timestamptz": (Kind.TIMESTAMP, _zoned()),
}
"""By its name: the kind, and how a cell is read. Nothing here fails on a cell."""


def read_declarations(texts: Sequence[str] | None, *, option: str = "read", form: str = "TYPE") -> dict[str, str]:
    """``COLUMN=TYPE``, each, as a mapping.

    >>> read_declarations(["note=timestamptz", "age=integer"])
    {'note': 'timestamptz', 'age': 'integer'}
    """
    declared: dict[str, str] = {}
    for text in texts or ():
        name, _, kind = text.rpartition("=")
        if not name or name in declared:
            rule = f"must name each column once, as COLUMN={form}" if name else f"must be COLUMN={form}"
            raise ParameterError(option, rule, text, f"for instance --{option} {_EXAMPLES[option]}")
        declared[name] = kind.strip()
    return declared


_EXAMPLES: Final = {"read": "age=integer", "cells": "city=3"}


def read_cells(texts: Sequence[str] | None) -> dict[str, int]:
    """``COLUMN=M``, each: in how many cells of the column a person counts.

    >>> read_cells(["city=3"])
    {'city': 3}
    """
    declared = read_declarations(texts, option="cells", form="M")
    for name, most in declared.items():
        if not re.fullmatch("[0-9]{1,9}", most) or not int(most):
            rule = f"must give {name!r} a whole number of at least 1"
            raise ParameterError("cells", rule, most, "for instance city=3")
    return {name: int(most) for name, most in declared.items()}


def rows_of_cells(owners: npt.NDArray[np.int64], ranks: npt.NDArray[np.int64], most: int) -> npt.NDArray[np.bool_]:
    """Which rows count in their cell: those of the ``most`` cells that their person has most rows in.

    ``ranks`` has the place of each row's value among all values, in *their* order, and -1 where it is null, which is no
    cell. Of cells with equally many rows the smaller values stay. **Theorem.** Whether a row counts depends on the rows
    of its person alone; each counts in at most ``most`` cells. Proof: docs/explanation/proofs_in_words/ledger.md

    >>> import numpy as np
    >>> rows_of_cells(np.array([0, 0, 0, 0, 1]), np.array([2, 1, 2, 0, 1]), 2).tolist()
    [True, False, True, True, True]
    """
    import numpy as np

    kept, present = np.zeros(len(owners), bool), np.flatnonzero(ranks >= 0)
    width = ranks.max(initial=0) + 1
    pairs, pair_of, counts = np.unique(
        owners[present] * width + ranks[present], return_inverse=True, return_counts=True
    )
    people, cells = np.divmod(pairs, width)
    order = np.lexsort((cells, -counts, people))
    chosen = np.zeros(len(pairs), bool)
    chosen[order] = np.arange(len(pairs)) - np.searchsorted(people, people) < most  # people are sorted in both orders
    kept[present] = chosen[pair_of]
    return kept


def declared_types(types: Mapping[str, str], read: Mapping[str, str]) -> dict[str, tuple[Kind, str]]:
    """The kind of each column that a type was declared for, and how its cells are read; ``types`` are the engine's."""
    for name, kind in read.items():
        if kind.lower() not in TYPES:
            raise ParameterError("read", f"must give {name!r} one of {', '.join(TYPES)}", kind)
        if types[name] not in ("varchar", "enum"):
            step = "leave it out: the column has a type" if types[name] in _CASTS else "cast it, with --sql"
            raise ParameterError("read", f"must name columns of text, and {name!r} is {types[name]}", next_step=step)
    return {name: TYPES[kind.lower()] for name, kind in read.items()}


@dataclass(frozen=True, kw_only=True)
class _Distinct:
    """The different values of a column, in a table of their own.

    ``codes`` has for each row of ``SERVED``, by its place, the place of its value; ``characters``, of a text column,
    how many of each width there are in the values and in the rows, and ``cells`` and ``row_cells`` what fills these up;
    ``kept``, of a column of cells, which rows count in theirs.
    """

    name: str
    table: str
    count: int
    codes: npt.NDArray[np.intp]
    kind: Kind
    characters: Sequence[Sequence[int]] = ()
    cells: Sequence[tuple[str, int]] = ()
    row_cells: Sequence[tuple[str, int]] = ()
    kept: npt.NDArray[np.bool_] | None = None

    @property
    def filling_cells(self) -> int:
        """How many cells fill the characters up, at most: a public number."""
        return CELLS * len(WIDTHS) if self.kind is Kind.TEXT else 0


@dataclass(frozen=True, kw_only=True)
class Unfilled:
    """What was read, before it is filled up: by ``people`` or by rows, which ``place`` numbers."""

    schema: Schema
    people: bool
    place: str
    owners: npt.NDArray[np.int64] = field(repr=False)
    values: Sequence[_Distinct] = field(repr=False)

    @property
    def sizes(self) -> dict[str, Size]:
        """What is shown of the sizes is drawn from these, which are private."""
        values = {values_of(each.name): Size(each.count, TEXT if each.kind is Kind.TEXT else 1) for each in self.values}
        return {ROWS: Size(len(self.owners)), **values}


class CopyEngine(Workspace):
    """The engine of a dataset: the copy is made in it, and then it is closed to all files and settings."""

    def copy_files(self, files: Sequence[str], source: TableSource) -> Unfilled:
        """Read the files once, and copy the declared columns of every row that has a person."""
        user, columns, read = source.user, source.columns, source.read or {}
        people = [] if user is None else [user]
        # Of JSON the columns are those named: keys that were read off the records would depend on who is in them.
        asked = None if columns is None else [*columns, *people]
        opened = self.open(files, form=source.form, table=source.table, sql=source.sql, columns=asked, user=user)
        types = _types(opened)
        if self.people != user:
            types.pop(self.people or "")  # keys beside the users are nothing to ask about
        check_columns(list(types), [*people, *(columns or ()), *read])
        casts = {name: _CASTS[kind] for name, kind in types.items() if kind in _CASTS} | declared_types(types, read)
        schema, forms = _declared(types, casts, source), {name: form for name, (_, form) in casts.items()}
        for name in read:
            if schema.find(name) is None:
                raise ParameterError("read", "must name columns that may be asked about", name, "add it to --columns")
        return self._copied_columns(opened, schema, forms, source.cells or {})

    def fetch(self, url: str, **public: Any) -> FetchedRows:
        """The rows of a table in PostgreSQL, at one moment, in the folder of this engine; see ``fetch_rows``."""
        return fetch_rows(url, self.inbox.beside("rows.csv"), **public)

    def open_rows(self, rows: FetchedRows, *, copy: bool = False) -> DuckDBPyRelation:
        """The rows as a relation, or a copy of them; ``people`` is then the column of the numbers of the people."""
        self.kind, self.people = "PostgreSQL", rows.people
        without_bar(self._connection)
        opened = self._connection.sql(rows.reader())
        return self._copied(opened) if copy else opened

    def copy_rows(self, rows: FetchedRows, cells: Mapping[str, int]) -> Unfilled:
        """Copy the declared columns of every row."""
        opened = self.open_rows(rows)
        casts = {name: _CASTS[kind][1] for name, kind in _types(opened).items()}
        return self._copied_columns(opened, rows.table.schema, casts, cells)

    def _copied_columns(
        self, opened: DuckDBPyRelation, schema: Schema, casts: Mapping[str, str], cells: Mapping[str, int]
    ) -> Unfilled:
        """The columns of the schema, and their values and codes; after this no file can be read here."""
        for name in cells:
            if (column := schema.find(name)) is None or column.kind not in (Kind.TEXT, Kind.INTEGER):
                rule = "must name columns of text or whole numbers that may be asked about"
                raise ParameterError("cells", rule, name, "add it to --columns, or leave it out")
        self._connection.execute("SET preserve_insertion_order = true")
        names = [column.name for column in schema.columns]
        person, place = (identifier(unlike(name, names)) for name in ("person", "place"))
        self._stage(opened, schema, casts, person, place)
        owners = self._places(place) if self.people is None else self._owners(person, place)
        values = {column.name: self._distinct(column, place, len(owners)) for column in schema.columns}
        for name, most in cells.items():
            kept = rows_of_cells(owners, self._ranks(values[name], place), most)
            values[name] = replace(values[name], kept=kept)
        if self.kind == "DuckDB":
            self._connection.execute("USE memory")
            self._connection.execute("DETACH source")
        self.inbox.clear()
        self._connection.execute("SET enable_external_access = false")
        return Unfilled(
            schema=schema, people=self.people is not None, place=place, owners=owners, values=[*values.values()]
        )

    def fill(self, read: Unfilled, shown: Mapping[str, int], filled_up: Callable[[Sequence[int]], list[int]]) -> Copy:
        """Fill up to the shown sizes, and the characters of each width to what ``filled_up`` makes of their number."""
        import numpy as np

        schema, place, owners = read.schema, read.place, read.owners
        order = _by_person(owners)
        columns = [_with_cells(each, schema.max_cell, filled_up) for each in read.values]
        # The cells that fill characters up have room of their own, as many as there can be: how many there are is drawn
        # with the characters, and the sizes must follow from what is shown alone.
        sizes = {each.name: public_size(shown[values_of(each.name)] + each.filling_cells + 1) for each in columns}
        rows = public_size(shown[ROWS] + sum(each.filling_cells for each in columns))
        tables = self._values(columns, sizes, place)
        copied = Copy(
            schema=schema,
            unit="user" if read.people else "row",
            rows=rows,
            ends=last_rows(owners[order], rows),
            order=np.concatenate([order, np.arange(len(order), rows)]),
            coded={
                each.name: Coded(
                    table=tables[sizes[each.name]],
                    size=sizes[each.name],
                    # Filling has the code of some value: no end of a person comes after it.
                    codes=np.concatenate([each.codes[order], np.zeros(rows - len(order), np.intp)]),
                )
                for each in columns
            },
            shown=_shown(schema, people_of(schema) if read.people else None, place),
            kept={
                each.name: np.concatenate([each.kept[order], np.zeros(rows - len(order), bool)])
                for each in columns
                if each.kept is not None
            },
        )
        for each in columns:
            self._fill(SERVED, each.name, each.row_cells)
        nulls = rows - len(owners) - sum(len(each.row_cells) for each in columns)
        self._connection.execute(f"INSERT INTO {SERVED} ({place}) SELECT NULL FROM range({nulls})")
        return copied

    def hand_over(self) -> tuple[Path, str]:
        """Write the filled tables to a file in the private folder; its path, and a digest of all their rows."""
        file = self.inbox.beside("copy.duckdb")
        for sql in (f"ATTACH {_quoted(file)} AS handed", "COPY FROM DATABASE memory TO handed", "DETACH handed"):
            self._connection.execute(sql)
        return file, self._digest()

    def take_over(self, file: Path, digest: str) -> None:
        """Have the tables of another engine, in memory, each row in its place; then no file can be read here."""
        for sql in (
            "SET preserve_insertion_order = true",
            f"ATTACH {_quoted(file)} AS handed (READ_ONLY)",
            "COPY FROM DATABASE handed TO memory",
            "DETACH handed",
            "SET enable_external_access = false",
        ):
            self._connection.execute(sql)
        if self._digest() != digest:
            raise TableError("the engine did not keep the rows of the copy in order; this is a fault, please report it")

    def _digest(self) -> str:
        """Of every row of every table, in the order in which the engine gives them: codes are places."""
        digest = hashlib.blake2b(digest_size=32)
        listed = "SELECT table_name FROM duckdb_tables() WHERE database_name = 'memory' ORDER BY table_name"
        for (name,) in self._connection.execute(listed).fetchall():
            rows = self._arrays(f"SELECT hash(each) AS row FROM memory.main.{identifier(name)} AS each")["row"]
            digest.update(rows.tobytes())
        return digest.hexdigest()

    def close_settings(self, connections: int) -> list[DuckDBPyConnection]:
        """Connections that work out all that they are asked; none can be made or changed after this."""
        made = [self._connection.cursor() for _ in range(connections)]
        for connection in made:
            connection.execute("PRAGMA disable_optimizer")
        self._connection.execute("SET lock_configuration = true")
        return made

    def cursor(self) -> DuckDBPyConnection:
        """A connection to the same copy for one thread."""
        return self._connection.cursor()

    def _stage(
        self, opened: DuckDBPyRelation, schema: Schema, casts: Mapping[str, str], person: str, place: str
    ) -> None:
        """``SERVED``: the declared columns, the person, and the place of the row, by which the engine gives them."""
        import numpy as np

        names = {column.name: identifier(column.name) for column in schema.columns}
        cells = [f"{casts[name].format(cell, max_cell=schema.max_cell)} AS {cell}" for name, cell in names.items()]
        people = "0" if self.people is None else identifier(self.people)
        columns = ", ".join([*cells, f"{people} AS {person}", f"row_number() OVER () - 1 AS {place}"])
        rows = f"SELECT {columns} FROM opened WHERE {people} IS NOT NULL"
        opened.query("opened", f"CREATE TABLE {SERVED} AS {rows}")
        places = self._places(place)
        if not np.array_equal(places, np.arange(len(places))):
            raise TableError("the engine did not keep the order of the rows; this is a fault, please report it")

    def _places(self, place: str) -> npt.NDArray[np.int64]:
        return self._arrays(f"SELECT {place} AS place FROM {SERVED}")["place"]

    def _owners(self, person: str, place: str) -> npt.NDArray[np.int64]:
        """The number of the person of each row; they stay in ``OWNERS``, and who has which number is forgotten."""
        import numpy as np

        people = "memory.main.people"
        for sql in (
            f"CREATE TABLE {people} AS SELECT DISTINCT {person} AS label FROM {SERVED}",
            f"""CREATE TABLE {OWNERS} AS SELECT {SERVED}.{place} AS place, {people}.rowid AS number
            FROM {SERVED} JOIN {people} ON {SERVED}.{person} = {people}.label""",
            f"DROP TABLE {people}",
            f"ALTER TABLE {SERVED} DROP COLUMN {person}",
        ):
            self._connection.execute(sql)
        rows = self._arrays(f"SELECT place, number FROM {OWNERS}")
        owners = np.empty_like(rows["number"])
        owners[rows["place"]] = rows["number"]
        return owners

    def _distinct(self, column: Column, place: str, rows: int) -> _Distinct:
        """The different values of a column, the codes of its rows, and how many characters both have."""
        import numpy as np

        name, table = identifier(column.name), f"memory.main.{identifier(f'values of {column.name}')}"
        values = f"SELECT {name}, row_number() OVER () - 1 AS {place} FROM (SELECT DISTINCT {name} FROM {SERVED})"
        self._connection.execute(f"CREATE TABLE {table} AS {values}")
        coded = self._arrays(
            f"""SELECT {SERVED}.{place} AS place, {table}.{place} AS code FROM {SERVED} JOIN {table}
            ON {SERVED}.{name} IS NOT DISTINCT FROM {table}.{name}"""
        )
        codes = np.empty(rows, np.intp)
        codes[coded["place"]] = coded["code"]
        ((count,),) = self._connection.execute(f"SELECT count(*) FROM {table}").fetchall()
        distinct = _Distinct(name=column.name, kind=column.kind, table=table, count=count, codes=codes)
        if column.kind is not Kind.TEXT:
            return distinct
        counts = enumerate(width_counts(name))
        sums = ", ".join(f"coalesce({each}, 0)::BIGINT AS width_{width}" for width, each in counts)
        widths = np.array([*self._arrays(f"SELECT {sums} FROM {table} ORDER BY {place}").values()])
        often = np.bincount(codes, minlength=count)
        return replace(distinct, characters=[(widths @ each).tolist() for each in (np.ones_like(often), often)])

    def _ranks(self, column: _Distinct, place: str) -> npt.NDArray[np.int64]:
        """For each row the place of its value among all values, in their order; -1 where it is null."""
        import numpy as np

        name, ranks = identifier(column.name), np.full(column.count, -1)
        ordered = f"SELECT {place} AS code FROM {column.table} WHERE {name} IS NOT NULL ORDER BY {name}"
        codes = self._arrays(ordered)["code"]
        ranks[codes] = np.arange(len(codes))
        return ranks[column.codes]

    def _values(self, columns: Sequence[_Distinct], sizes: Mapping[str, int], place: str) -> dict[int, str]:
        """A table for each size, with the values of all columns of that size, filled up; by the size."""
        execute = self._connection.execute
        for each in columns:
            self._fill(each.table, each.name, each.cells)
            nulls = sizes[each.name] - each.count - len(each.cells)
            execute(f"INSERT INTO {each.table} ({place}) SELECT NULL FROM range({nulls})")
        tables = {size: f"memory.main.values_{size}" for size in sizes.values()}
        for size, table in tables.items():
            ordered = (
                f"(SELECT {identifier(each.name)} FROM {each.table} ORDER BY {place} NULLS LAST)"
                for each in columns
                if sizes[each.name] == size
            )
            execute(f"CREATE TABLE {table} AS SELECT * FROM {' POSITIONAL JOIN '.join(ordered)}")
        for each in columns:
            execute(f"DROP TABLE {each.table}")
        return tables

    def _fill(self, table: str, column: str, cells: Sequence[tuple[str, int]]) -> None:
        """Each kind of cell at once: most of them are as long as may be."""
        for (character, length), many in Counter(cells).items():
            cell = f"SELECT repeat('{character}', {length}) FROM range({many})"
            self._connection.execute(f"INSERT INTO {table} ({identifier(column)}) {cell}")

    def _arrays(self, sql: str) -> dict[str, npt.NDArray[np.int64]]:
        arrays: dict[str, npt.NDArray[np.int64]] = self._connection.execute(sql).fetchnumpy()
        return arrays


def _with_cells(column: _Distinct, max_cell: int, filled_up: Callable[[Sequence[int]], list[int]]) -> _Distinct:
    """With the cells that fill the characters of a text column up."""
    if column.kind is not Kind.TEXT:
        return column
    cells, row_cells = (
        filling_cells([after - before for before, after in zip(counted, filled_up(counted), strict=True)], max_cell)
        for counted in column.characters
    )
    return replace(column, cells=cells, row_cells=row_cells)


def _by_person(owners: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    """The places of the rows, person after person. The numbers are dense, so it is a counting sort."""
    import numpy as np
    from scipy.sparse import coo_array

    rows = len(owners)
    grouped = coo_array((np.ones(rows, bool), (owners, np.arange(rows))), shape=(rows, rows)).tocsr()
    return grouped.indices.astype(np.intp)


def people_of(schema: Schema) -> str:
    """The name of the column that has the numbers of the people."""
    return unlike("person", [column.name for column in schema.columns])


def _shown(schema: Schema, people: str | None, place: str) -> str:
    cells = ", ".join(f"{SERVED}.{identifier(column.name)}" for column in schema.columns)
    if people is None:
        return f"{cells} FROM {SERVED} WHERE {place} IS NOT NULL"
    known = f"{SERVED} JOIN {OWNERS} ON {SERVED}.{place} = {OWNERS}.place"
    return f"{cells}, {OWNERS}.number AS {identifier(people)} FROM {known}"


def _types(opened: DuckDBPyRelation) -> dict[str, str]:
    return {name: str(kind.id) for name, kind in zip(opened.columns, opened.types, strict=True)}


def _declared(types: Mapping[str, str], casts: Mapping[str, tuple[Kind, str]], source: TableSource) -> Schema:
    """The columns that may be asked about, told from the schema of the table, and what was declared, alone."""
    user, columns = source.user, source.columns
    if user is not None and types[user] not in _PEOPLE:
        raise TableError(
            f"the users in column {user!r} must be of a type that tells people apart exactly, such as whole numbers or "
            f"strings, not {types[user]}; cast the column first, with --sql"
        )
    for name in columns or ():
        if name not in casts:
            raise TableError(f"column {name!r} is {types[name]}, which cannot be asked about; cast it, with --sql")
    chosen = columns if columns is not None else [name for name in types if name in casts and name != user]
    if not chosen:
        raise TableError(
            "the table has no column to ask about: text, integers, decimals, floats, booleans, dates, timestamps, times"
        )
    left_out = () if columns is not None else tuple(name for name in types if name not in casts and name != user)
    declared = tuple(Column(name, casts[name][0]) for name in chosen)
    return Schema(declared, max_cell=source.max_cell, unreadable=left_out)


def _quoted(file: Path) -> str:
    return "'" + str(file).replace("'", "''") + "'"
