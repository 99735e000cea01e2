"""Copying the table that is served: which columns, as what types, cut to a public length, the people as numbers.

What is copied, and how, is told from the schema of the table, which is public, and from what the owner asked for. Every
column is kept twice: in the table ``SERVED``, row by row, and as *values and codes*: its different values in a table,
with those of all columns that are filled up to the same size, and for each row the place of its value there, as an
array in the order of the people. Nothing is sorted but numbers. See ``constant_work``.

It takes two steps, because the sizes that the copy is filled up to are drawn, and paid for, in between: ``copy_files``
or ``copy_rows`` reads all that is needed, and ``fill`` makes of it what is counted: what one person has takes the place
of filling instead of adding work.

**Sizes.** What a count takes, and so D and what is refused as too dear, follows from the *shown sizes*: the rows, and
the different values of each column. One person of up to ``FillTerms.person_rows`` rows adds at most that many, s, to
each of them. A shown size is the size and a draw Z from ``FillLaw``, and never less than the size. It is drawn once for
each dataset, after its charge (``service.shown_sizes``). Sizes that an owner gives (--capacity) take its place, and
cost nothing.

**Theorem.** Let Z be in 0..2h with P[Z = z] = C exp(-|z - h| / b), b = s / eps. Then n + Z is (eps, delta)-DP for
sizes n that one person moves by at most s, with delta = C (q^(h-s+1) - q^(h+1)) / (1 - q), q = exp(-1/b): the mass of
the s least values. *Proof.* Let the sizes be n and n + t, 0 <= t <= s. A shown size from n + t to n + 2h can come from
both: its probabilities have the ratio exp((|x - h| - |x - t - h|) / b), at most exp(t / b) <= exp(eps), either way.
What else can be shown comes from one of them alone: n..n + t - 1 from the first, and n + 2h + 1..n + 2h + t from the
second. These are the t least and the t greatest values of Z, of the same mass, which grows with t. [] (Where the sizes
are s apart no delta does with less: no event there has a ratio at all.)

With C = (1 - q) / (1 + q - 2 q^(h+1)), delta = q^(h+1) (e^eps - 1) / (1 + q - 2 q^(h+1)), so it is kept just where

    h + 1 >= b log((e^eps - 1 + 2 delta) / (delta (1 + q))).

**All sizes at once.** One person moves all of them, each by at most s, and the draws are independent: epsilons and
deltas add, and ``FillTerms.epsilon`` and ``delta`` are the sums. So that a wide table does not take a draw for each
column, columns share them, as the schema and the order of the columns say: those of text and the others each fall into
at most ``GROUPS`` groups, and what is shown of a column is the largest size of its group (which one person moves by at
most s) and the group's draw. A group of text columns has ``TEXT`` shares of epsilon and delta, another one, because a
count takes longest over text. A person of j times as many rows has a loss of at most j epsilon, and as a delta the mass
of as many values; nobody's rows are cut off.

**Steps.** A shown size is then rounded up to one of eight steps to a doubling, so that columns can share a table. What
is rounded is what was drawn: nobody stands at the edge of such a step.

**Characters, and not only cells.** What the engine does with a text takes a time for each cell, and for each character
one that depends on its bytes: ``lower`` takes ten times as long for é as for e. Were a column filled up with nulls, one
person with fifty long notes would make a question slower; with long cells, one with fifty short notes would make it
faster. So in a copy as many characters of each width are added as a uniform draw says, up to those of ``CELLS`` cells,
in cells as long as may be, anew at each start. They show in no shown size, in no D and in no refusal, and so are not
charged: to hide 8 cells of 1,000 characters at an epsilon of 0.01 would take 16 million characters of each width, in
each column. They are for whoever has a stopwatch and no D: x characters of one person are told by an advantage of at
most x / (CELLS max_cell), because with all but that probability the sum could have come from both (the sums are uniform
on ranges that are shifted by x).

Filling is in the tables that the engine works through, and nowhere else: no code points to a filled value, and no end
of a person to a filled row.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from sparsegate.conditions import Column, Kind, Schema
from sparsegate.conditions.condition import known_moment
from sparsegate.errors import ParameterError, TableError
from sparsegate.noise import Source, discrete_laplace, uniform_below
from sparsegate.service.data.constant_work import Coded, Copy, last_rows
from sparsegate.service.data.declared_types import declared_types
from sparsegate.service.data.postgres_rows import FetchedRows, fetch_rows
from sparsegate.tables.columns import check_columns, identifier, unlike
from sparsegate.tables.files import TextForm
from sparsegate.tables.workspace import NO_BAR, Workspace

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from duckdb import DuckDBPyConnection, DuckDBPyRelation


LEAST: Final = 4_096
STEPS: Final = 8
CELLS: Final = 256
"""A public number: so many cells, as long as they may be, are added at most for the characters of one width."""
WIDTHS: Final = ("a", "é", "ก", "😀")
"""A character of one byte, of two, of three, of four."""
FILLING_CELLS: Final = CELLS * len(WIDTHS)
"""How many cells fill the characters of a text column up, at most."""
ROWS: Final = "rows"
"""The name of the size that is the number of rows."""
TEXT: Final = 8
"""The shares that the sizes of text columns have of epsilon and delta."""
GROUPS: Final = 3
"""How many draws there are at most for the sizes of text columns, and for those of all others."""
MOST_ROWS: Final = 10**6
_FROM: Final = (0x80, 0x800, 0x10000, 0x110000)


class Size(NamedTuple):
    """What was counted, which is private, and the shares that a draw for it has of epsilon and delta."""

    counted: int
    shares: int = 1


@dataclass(frozen=True, kw_only=True)
class FillLaw:
    """The law of a draw: the discrete Laplace law of this ``scale`` around ``half``, from 0 to twice that."""

    scale: Fraction
    half: int

    @classmethod
    def of(cls, *, person: int, epsilon: Fraction, delta: Fraction) -> FillLaw:
        """The narrowest that is (epsilon, delta)-DP for sizes that one person moves by at most ``person``.

        >>> FillLaw.of(person=8, epsilon=Fraction(1, 50), delta=Fraction(1, 10**9))
        FillLaw(scale=Fraction(400, 1), half=6452)
        """
        scale = person / epsilon
        odds = (math.expm1(epsilon) + 2 * float(delta)) / float(delta) / (1 + math.exp(-1 / scale))
        # One more than is needed: floats are nowhere near as far off.
        return cls(scale=scale, half=math.ceil(float(scale) * math.log(odds)))

    def draw(self, source: Source) -> int:
        """How much is added: what lies outside is drawn again, which leaves the law within as it is."""
        while abs(drawn := discrete_laplace(source, self.scale)) > self.half:
            pass
        return self.half + drawn


@dataclass(frozen=True, kw_only=True)
class FillTerms:
    """What the shown sizes of a dataset cost together, and for whom: public numbers."""

    epsilon: Fraction = Fraction(1, 20)
    delta: Fraction = Fraction(1, 10**9)
    person_rows: int = 8

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= 10:
            raise ParameterError("size_epsilon", "must be above 0 and at most 10", float(self.epsilon))
        if not Fraction(1, 10**30) <= self.delta < 1:
            rule = "must be from 1e-30 to below 1: a size that is never shown too small has a delta"
            raise ParameterError("size_delta", rule, float(self.delta), "for none, give public sizes with --capacity")
        if not 1 <= self.person_rows <= MOST_ROWS:
            raise ParameterError("person_rows", f"must be from 1 to {MOST_ROWS:,}", self.person_rows)

    def of_unit(self, unit: str) -> FillTerms:
        """Where every row is another person, nobody has more than one."""
        return replace(self, person_rows=1) if unit == "row" else self

    def laws(self, shares: Mapping[str, int]) -> dict[tuple[str, ...], FillLaw]:
        """The law of each group of sizes; their epsilons and deltas come to no more than those of all.

        >>> FillTerms().laws({"rows": 1, "values of a": 8, "values of b": 1, "values of c": 8}).keys()
        dict_keys([('rows',), ('values of a',), ('values of c',), ('values of b',)])
        """
        rows, *columns = sorted(shares, key=lambda name: (name != ROWS, -shares[name]))
        groups: list[tuple[str, ...]] = [(rows,)]
        for _, alike in groupby(columns, shares.__getitem__):
            names = tuple(alike)
            some = -(-len(names) // GROUPS)
            groups += (names[start : start + some] for start in range(0, len(names), some))
        whole = sum(shares[group[0]] for group in groups)
        return {
            group: FillLaw.of(
                person=self.person_rows,
                epsilon=self.epsilon * shares[group[0]] / whole,
                delta=self.delta * shares[group[0]] / whole,
            )
            for group in groups
        }

    def drawn(self, sizes: Mapping[str, Size], source: Source) -> dict[str, int]:
        """The shown sizes, drawn here and now: only after the charge, and only once for each dataset."""
        laws = self.laws({name: size.shares for name, size in sizes.items()})
        shown = {group: max(sizes[name].counted for name in group) + law.draw(source) for group, law in laws.items()}
        return {name: size for group, size in shown.items() for name in group}


def checked(shown: Mapping[str, int], sizes: Mapping[str, Size]) -> Mapping[str, int]:
    """The shown sizes, where there is one for each size, and none is too small. No error has a number that was counted.

    >>> checked({"rows": 9}, {"rows": Size(8)})
    {'rows': 9}
    """
    for name, size in sizes.items():
        if shown.get(name, -1) < size.counted:
            rule = f"must be at least the {name} that there are"
            raise ParameterError("capacity", rule, shown.get(name), "give more, with room to grow")
    return shown


def public_size(shown: int) -> int:
    """A shown size rounded up to a step.

    >>> public_size(1), public_size(4_097), public_size(1_000_000)
    (4096, 4608, 1048576)
    """
    step = max(LEAST, 1 << shown.bit_length() - 1 if shown else 1) // STEPS
    return max(LEAST, -(-shown // step) * step)


def width_counts(cell: str) -> list[str]:
    """As SQL: how many characters of each width a text has."""
    several = [
        rf"length(regexp_replace({cell}, '[^\x{{{low:X}}}-\x{{{high - 1:X}}}]', '', 'g'))"
        for low, high in pairwise(_FROM)
    ]
    plain = f"strlen({cell}) = length({cell})"
    one = " - ".join([f"length({cell})", *several])
    return [
        f"CASE WHEN {plain} THEN length({cell}) ELSE {one} END",
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

_NARROW: Final = ("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger")
_CASTS: Final[dict[str, tuple[Kind, str]]] = {
    # A cast would keep a collation, and then 'A' and 'a' might be equal.
    **dict.fromkeys(("varchar", "enum", "uuid"), (Kind.TEXT, 'left(CAST({} AS VARCHAR), {max_cell}) COLLATE "C"')),
    **dict.fromkeys(_NARROW, (Kind.INTEGER, "CAST({} AS BIGINT)")),
    **dict.fromkeys(("ubigint", "hugeint"), (Kind.INTEGER, "CAST({} AS HUGEINT)")),
    # Two zeros that are equal and print differently must not stand for one another: adding 0 leaves one of them.
    **dict.fromkeys(("float", "double", "decimal", "uhugeint"), (Kind.REAL, "CAST({} AS DOUBLE) + 0")),
    **dict.fromkeys(
        ("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"),
        (Kind.TIMESTAMP, known_moment("TRY_CAST({0} AS TIMESTAMP)")),
    ),
    # A cast would take the time zone of the machine.
    "timestamp with time zone": (Kind.TIMESTAMP, known_moment("TRY(make_timestamp(epoch_us({0})))")),
    "boolean": (Kind.BOOLEAN, "CAST({} AS BOOLEAN)"),
    "date": (Kind.DATE, "CAST({} AS DATE)"),
    "time": (Kind.TIME, "CAST({} AS TIME)"),
}
"""By the engine's type: the kind, and how a cell is copied. No cast here can fail on a cell. The types and their kinds
are those of conditions elsewhere (``conditions.condition``)."""

# Two floats that are told apart may be one person, and not-a-number is nobody.
_PEOPLE: Final = {*_CASTS, "blob"} - {"float", "double"}


@dataclass(frozen=True, kw_only=True)
class _Distinct:
    """The different values of a column, in a table of their own."""

    name: str
    table: str
    count: int
    codes: npt.NDArray[np.intp]
    """For each row of ``SERVED``, by its place, the place of its value."""
    kind: Kind
    characters: Sequence[Sequence[int]] = ()
    """Of a text column, how many of each width there are in the values, and in the rows."""
    cells: Sequence[tuple[str, int]] = ()
    """What fills the characters of the values up; the theorem is at the head of this file."""
    row_cells: Sequence[tuple[str, int]] = ()
    """What fills the characters of the rows up."""

    @property
    def filling_cells(self) -> int:
        """How many cells fill the characters up, at most: a public number."""
        return FILLING_CELLS if self.kind is Kind.TEXT else 0


@dataclass(frozen=True, kw_only=True)
class Unfilled:
    """What was read, before it is filled up."""

    schema: Schema
    people: bool
    """Whether rows belong to people; else every row is another person."""
    place: str
    """The column of the places."""
    owners: npt.NDArray[np.int64] = field(repr=False)
    values: Sequence[_Distinct] = field(repr=False)

    @property
    def sizes(self) -> dict[str, Size]:
        """What is shown of the sizes is drawn from these, which are private."""
        values = {values_of(each.name): Size(each.count, TEXT if each.kind is Kind.TEXT else 1) for each in self.values}
        return {ROWS: Size(len(self.owners)), **values}


def values_of(column: str) -> str:
    """The name of the size of a column."""
    return f"values of {column}"


class CopyEngine(Workspace):
    """The engine of a dataset: the copy is made in it, and then it is closed to all files and settings."""

    def copy_files(
        self,
        files: Sequence[str],
        *,
        user: str | None,
        table: str | None,
        sql: str | None,
        columns: Sequence[str] | None,
        max_cell: int,
        form: TextForm,
        read: Mapping[str, str],
    ) -> Unfilled:
        """Read the files once, and copy the declared columns of every row that has a person."""
        # Of JSON the columns are those named: keys that were read off the records would depend on who is in them.
        asked = None if columns is None else [*columns, *([] if user is None else [user])]
        opened = self.open(files, form=form, table=table, sql=sql, columns=asked, user=user)
        types = _types(opened)
        if self.people != user:
            types.pop(self.people or "")  # keys beside the users are nothing to ask about
        check_columns(list(types), [*([] if user is None else [user]), *(columns or ()), *read])
        casts = {name: _CASTS[kind] for name, kind in types.items() if kind in _CASTS} | declared_types(types, read)
        schema = _declared(types, casts, user, columns, max_cell)
        for name in read:
            if schema.find(name) is None:
                raise ParameterError("read", "must name columns that may be asked about", name, "add it to --columns")
        return self._copied_columns(opened, schema, {name: cast for name, (_, cast) in casts.items()})

    def fetch(
        self, url: str, *, table: str, user: str | None, columns: Sequence[str] | None, max_cell: int
    ) -> FetchedRows:
        """The rows of a table in PostgreSQL, at one moment, in the folder of this engine."""
        file = self.inbox.beside("rows.csv")
        return fetch_rows(url, file, table=table, user=user, columns=columns, max_cell=max_cell)

    def open_rows(self, rows: FetchedRows, *, copy: bool = False) -> DuckDBPyRelation:
        """The rows as a relation, or a copy of them; ``people`` is then the column of the numbers of the people."""
        self.kind, self.people = "PostgreSQL", rows.people
        self._connection.execute(NO_BAR)
        opened = self._connection.sql(rows.reader())
        return self._copied(opened) if copy else opened

    def copy_rows(self, rows: FetchedRows) -> Unfilled:
        """Copy the declared columns of every row."""
        opened = self.open_rows(rows)
        casts = {name: _CASTS[kind][1] for name, kind in _types(opened).items()}
        return self._copied_columns(opened, rows.table.schema, casts)

    def _copied_columns(self, opened: DuckDBPyRelation, schema: Schema, casts: Mapping[str, str]) -> Unfilled:
        """The columns of the schema, and their values and codes; after this no file can be read here."""
        self._connection.execute("SET preserve_insertion_order = true")
        names = [column.name for column in schema.columns]
        person, place = (identifier(unlike(name, names)) for name in ("person", "place"))
        self._stage(opened, [(name, casts[name]) for name in names], (person, place), schema.max_cell)
        owners = self._places(place) if self.people is None else self._owners(person, place)
        values = [self._distinct(column, place, len(owners)) for column in schema.columns]
        if self.kind == "DuckDB":
            self._connection.execute("USE memory")
            self._connection.execute("DETACH source")
        self.inbox.clear()
        self._connection.execute("SET enable_external_access = false")
        return Unfilled(schema=schema, people=self.people is not None, place=place, owners=owners, values=values)

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
        )
        for each in columns:
            self._fill(SERVED, each.name, each.row_cells)
        nulls = rows - len(owners) - sum(len(each.row_cells) for each in columns)
        self._connection.execute(f"INSERT INTO {SERVED} ({place}) SELECT NULL FROM range({nulls})")
        return copied

    def close_settings(self, connections: int) -> list[DuckDBPyConnection]:
        """Connections that work out all that they are asked, and no way to make another of them or to change one."""
        made = [self._connection.cursor() for _ in range(connections)]
        for connection in made:
            connection.execute("PRAGMA disable_optimizer")
        self._connection.execute("SET lock_configuration = true")
        return made

    def cursor(self) -> DuckDBPyConnection:
        """A connection to the same copy for one thread."""
        return self._connection.cursor()

    def _stage(
        self,
        opened: DuckDBPyRelation,
        chosen: Sequence[tuple[str, str]],
        own: tuple[str, str],
        max_cell: int,
    ) -> None:
        """``SERVED``: the declared columns, the person, and the place of the row, by which the engine gives them."""
        import numpy as np

        cells = [f"{cast.format(identifier(name), max_cell=max_cell)} AS {identifier(name)}" for name, cast in chosen]
        label, place = own
        people = "0" if self.people is None else identifier(self.people)
        columns = ", ".join([*cells, f"{people} AS {label}", f"row_number() OVER () - 1 AS {place}"])
        there = f"SELECT {columns} FROM opened WHERE {people} IS NOT NULL"
        opened.query("opened", f"CREATE TABLE {SERVED} AS {there}")
        places = self._places(place)
        if not np.array_equal(places, np.arange(len(places))):
            raise TableError("the engine did not keep the order of the rows; this is a fault, please report it")

    def _places(self, place: str) -> npt.NDArray[np.int64]:
        """All places, in the order in which the engine gives the rows."""
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
        self._connection.execute(
            f"""CREATE TABLE {table} AS SELECT {name}, row_number() OVER () - 1 AS {place}
            FROM (SELECT DISTINCT {name} FROM {SERVED})"""
        )
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
        sums = ", ".join(
            f"coalesce({each}, 0)::BIGINT AS width_{width}" for width, each in enumerate(width_counts(name))
        )
        widths = np.array([*self._arrays(f"SELECT {sums} FROM {table} ORDER BY {place}").values()])
        often = np.bincount(codes, minlength=count)
        return replace(distinct, characters=[(widths @ each).tolist() for each in (np.ones_like(often), often)])

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
    """The name of the column that has the numbers of the people, unlike those of the declared columns."""
    return unlike("person", [column.name for column in schema.columns])


def _shown(schema: Schema, people: str | None, place: str) -> str:
    """The declared columns, and the numbers of the people."""
    cells = ", ".join(f"{SERVED}.{identifier(column.name)}" for column in schema.columns)
    if people is None:
        return f"{cells} FROM {SERVED} WHERE {place} IS NOT NULL"
    known = f"{SERVED} JOIN {OWNERS} ON {SERVED}.{place} = {OWNERS}.place"
    return f"{cells}, {OWNERS}.number AS {identifier(people)} FROM {known}"


def _types(opened: DuckDBPyRelation) -> dict[str, str]:
    """The engine's type of each column."""
    return {name: str(kind.id) for name, kind in zip(opened.columns, opened.types, strict=True)}


def _declared(
    types: Mapping[str, str],
    casts: Mapping[str, tuple[Kind, str]],
    user: str | None,
    columns: Sequence[str] | None,
    max_cell: int,
) -> Schema:
    """The columns that may be asked about, told from the schema of the table, and what was declared, alone."""
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
    return Schema(tuple(Column(name, casts[name][0]) for name in chosen), max_cell=max_cell, unreadable=left_out)
