"""A search for cells that take longer than the public cost of a condition says: a grammar, and hill climbing on time.

A *trial* is an operation of the language with its constants, and a family of cells: all different, because an engine
works out equal cells once, and all alike, because one dear cell would be lost among others. It is measured in processor
time for one row, over its public cost, over the same quotient of a reference in the same run: ``lower`` of the longest
cells, which is among what the service measures its machine by (``constant_work``). So 1 is a cell for which D was made.

Whatever seems dear is measured again, beside the reference, and the least of these counts: a busy machine finds nothing
by itself.
"""

from __future__ import annotations

import itertools
import random
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb

from sparsegate.conditions import Column, Kind, Leaf, Schema, read_condition
from sparsegate.conditions.operations import CLOCK, CONVERTS, PARTS, TYPES, WINDOWS

LONGEST = 1_000
ROWS = {Kind.TEXT: 200}
MANY = 20_000
"""Rows of cells of fixed size, which take little each."""

TYPE = dict(zip(Kind, ("VARCHAR", "HUGEINT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "TIME"), strict=True))
UNITS = (*"a 09_%\\éÉİßŉΐ€\u3000ａ😀𐐀A", "ab", "😀😁", "e\u0301")
HEADS = ("", "b", " ", "1", "-", "0.", "1e", "2024-01-01 ", "2024-01-01 00:00:00 ", "00:00", "😁", "infinity")
TAILS = ("", "b", "x", " ", "ab", "1", "E-300", "+02", "Z", "😁", "é")
REPEATS = (0, 1, 3, 8, 9, 20, 64, 100, 300, 450, 900)


def text_operations() -> Iterator[tuple[str, str]]:
    """By name, the condition on the texts c and d, with the patterns {p} and {q}."""
    for sign in ("=", "<>", "<", ">="):
        yield f"text {sign}", f"c {sign} '{{p}}'"
    yield "text in", "c IN ('{p}', '{q}', 'x')"
    yield "text between", "c BETWEEN '{p}' AND '{q}'"
    yield "text between between", "(lower(c) BETWEEN '{p}' AND '{q}') BETWEEN FALSE AND TRUE"
    yield "text betweens", "(((lower(c) BETWEEN '{p}' AND '{q}') BETWEEN FALSE AND TRUE) BETWEEN FALSE AND TRUE) = TRUE"
    yield "text distinct", "c IS DISTINCT FROM '{p}'"
    yield "text is null", "c IS NULL"
    yield "text = text", "c = d"
    yield "text < text", "c < d"
    for name in ("starts_with", "ends_with", "contains"):
        yield name, f"{name}(c, '{{p}}')"
    for name in ("lower", "upper", "trim", "ltrim", "rtrim"):
        yield name, f"{name}(c) = '{{p}}'"
    yield "length", "length(c) > 5"
    yield "lower trim", "lower(trim(c)) IN ('{p}', '{q}')"
    yield "contains upper", "contains(upper(c), '{p}')"
    yield "like segments", "c LIKE '%{p}%{q}%'"
    yield "like ends", "c LIKE '{p}%{q}'"
    yield "like _", "c LIKE '{p}_{q}'"
    yield "like %_", "c LIKE '%_{p}'"
    yield "like %_%", "c LIKE '%{p}_{q}%'"
    yield "ilike", "c ILIKE '%{p}%'"
    yield "ilike _", "c ILIKE '%{p}_{q}'"
    yield "cast text", "CAST(c AS VARCHAR) = '{p}'"


def value_operations(kind: Kind) -> Iterator[tuple[str, str]]:
    """By name, the condition on values c and d of another kind."""
    for sign in ("=", "<", "IS DISTINCT FROM"):
        yield f"{kind} {sign}", f"c {sign} d"
    yield f"{kind} in", "c IN (d, d)"
    yield f"{kind} between", "c BETWEEN d AND d"
    yield f"{kind} is null", "c IS NULL"
    if kind in (Kind.INTEGER, Kind.REAL):
        for sign in "+-*/":
            yield f"{kind} {sign}", f"c {sign} d > 0.5"
        yield f"{kind} negative", "-c > 0.5"
    if kind in (Kind.DATE, Kind.TIMESTAMP, Kind.TIME):
        for part in CLOCK if kind is Kind.TIME else PARTS:
            yield f"{part} {kind}", f"{part}(c) = 5"
    if kind in (Kind.DATE, Kind.TIMESTAMP):
        for window in WINDOWS:
            yield f"{window} {kind}", f"{window}(c) = '2024-05'"
            yield f"{window} cast {kind}", f"{window}(CAST(CAST(c AS TIMESTAMP_NS) AS DATE)) = '2024-05'"
    for name in sorted({known.name for known in TYPES.values()}):
        if TYPES[name].kind in CONVERTS[kind]:
            for sizes in ("(18, 3)", "(38, 0)", "(38, 37)", "(1, 1)") if name == "DECIMAL" else ("",):
                yield f"cast {kind} {name}{sizes}", f"CAST(c AS {name}{sizes}) IS NULL"


OPERATIONS: dict[str, tuple[Kind, str]] = {
    **{name: (Kind.TEXT, form) for name, form in text_operations()},
    **{name: (kind, form) for kind in Kind if kind is not Kind.TEXT for name, form in value_operations(kind)},
}


@dataclass(frozen=True)
class Repeated:
    """A text: ``head``, then ``unit`` so many times, then ``tail``."""

    head: str = ""
    unit: str = "a"
    repeat: int = 0
    tail: str = ""

    def text(self, longest: int = LONGEST) -> str:
        room = max(longest - len(self.head) - len(self.tail), 0)
        return (self.head + (self.unit * self.repeat)[:room] + self.tail)[:longest]

    def mutated(self, draw: random.Random) -> Repeated:
        gene = draw.choice(("head", "unit", "repeat", "tail", "mark"))
        if gene == "repeat":
            near = max(0, self.repeat + draw.choice((-1, 1)) * draw.randrange(1, 3 + self.repeat // 2))
            return replace(self, repeat=draw.choice((*REPEATS, LONGEST, near, near)))
        if gene == "mark":
            mark = draw.choice(
                (*"ab019 _-.:/+éİ😀", chr(draw.randrange(1, 0xD800)), chr(draw.randrange(0x10000, 0x20000)))
            )
            return replace(self, tail=(self.tail + mark)[-12:]) if draw.random() < 0.5 else replace(self, unit=mark)
        if gene == "unit":
            return replace(self, unit=draw.choice(UNITS))
        return replace(self, head=draw.choice(HEADS)) if gene == "head" else replace(self, tail=draw.choice(TAILS))


@dataclass(frozen=True)
class Trial:
    """One point of the search. ``number`` places a value of another kind in its range, from 0 to 1."""

    operation: str
    cell: Repeated = Repeated(unit="é", repeat=LONGEST)
    first: Repeated = Repeated(tail="x")
    second: Repeated = Repeated(tail="y")
    varied: str = "end"
    """Where cells differ."""
    number: float = 0.5
    other: float = 0.5

    @property
    def kind(self) -> Kind:
        return OPERATIONS[self.operation][0]

    @property
    def condition(self) -> str:
        form, patterns = OPERATIONS[self.operation][1], {}
        for name, pattern in (("p", self.first), ("q", self.second)):
            text = pattern.text(450).replace("'", "''").replace("\0", "")
            patterns[name] = text.replace("%", "a").replace("_", "b") if "LIKE" in form else text
        return form.format(**patterns)

    def mutated(self, draw: random.Random) -> Trial:
        if self.kind is not Kind.TEXT:
            changed = draw.randrange(2)
            near = min(max((self.number, self.other)[changed] + draw.gauss(0, 0.01), 0.0), 1.0)
            place = draw.choice((near, near, draw.random(), *EDGES))
            return replace(self, other=place) if changed else replace(self, number=place)
        match draw.randrange(7):
            case 0:
                return replace(self, first=self.first.mutated(draw))
            case 1:
                return replace(self, second=self.second.mutated(draw))
            case 2:
                return replace(self, varied=draw.choice(("start", "end", "inside")))
            case 3:  # a cell that is almost, or just, what is looked for
                length = draw.choice((self.first.repeat, LONGEST))
                return replace(self, cell=replace(self.first, repeat=length), varied="end")
            case 4:
                return replace(self, first=replace(self.cell, repeat=min(self.cell.repeat, draw.choice(REPEATS))))
        return replace(self, cell=self.cell.mutated(draw))

    def rows(self) -> int:
        return ROWS.get(self.kind, MANY)

    def cells(self) -> tuple[str, list[str]]:
        """A SELECT of the columns c and d, and its parameters."""
        if self.kind is Kind.TEXT:
            body = self.cell.text(LONGEST - 3)
            middle = {"start": 0, "end": len(body), "inside": len(body) // 2}[self.varied]
            form = "$1::VARCHAR || {} || $2::VARCHAR"
            varied = ", ".join(f"{form.format(mark)} AS {name}" for name, mark in (("c", "mark"), ("d", "next")))
            return f"SELECT {varied} FROM marks", [body[:middle], body[middle:]]
        values = ((name, value_sql(self.kind, place)) for name, place in (("c", self.number), ("d", self.other)))
        cast = ", ".join(f"TRY(CAST({value} AS {TYPE[self.kind]})) AS {name}" for name, value in values)
        return f"SELECT {cast} FROM range({self.rows()}) AS t(i)", []


EDGES = (0.25, 0.5000001, 1.0, 0.0, 0.5, 1e-9, 0.4999999, 1 - 1e-9, 0.75)


def value_sql(kind: Kind, place: float) -> str:
    """Values of the kind around a place in its range, all different, as SQL over the number i of a row."""
    match kind:
        case Kind.INTEGER:
            size = int(abs(2 * place - 1) * 126)
            return f"{'-' if place < 0.5 else ''}((1::HUGEINT << {size}) + i)"
        case Kind.REAL:
            bits = min(int(place * 2**64), 2**64 - 1) - 2**63
            (value,) = struct.unpack("<d", struct.pack("<q", bits))
            return f"CAST('{value!r}' AS DOUBLE) * (1 + i * 1e-9)"
        case Kind.BOOLEAN:
            return "i % 2 = 0"
        case Kind.DATE:
            return f"DATE '1970-01-01' + CAST({int((2 * place - 1) * 2_000_000_000)} + i AS INTEGER)"
        case Kind.TIMESTAMP:
            return f"make_timestamp({int((2 * place - 1) * 9.223372e18)} + i)"
    return f"make_time(i % 24, {int(59 * place)}, i % 6000 / 100)"


@dataclass(frozen=True)
class Found:
    """What a trial took, as a multiple of its public cost."""

    ratio: float
    trial: Trial

    def __str__(self) -> str:
        trial = self.trial
        cells = f"{trial.cell}, varied at the {trial.varied}"
        where = cells if trial.kind is Kind.TEXT else f"{trial.number!r}, {trial.other!r}"
        return f"{trial.operation}: {self.ratio:.2f}  {trial.condition[:80]!r} on {where}"


REFERENCE = Trial("lower", cell=Repeated(unit="É", repeat=LONGEST))


def public_leaf(condition: str, kind: Kind) -> Leaf:
    """The one leaf of a condition, with the cost that is charged for it."""
    (leaf,) = read_condition(condition, Schema((Column("c", kind), Column("d", kind)), max_cell=LONGEST)).leaves
    return leaf


class Search:
    """Measures trials, and climbs."""

    def __init__(self, seed: int, *, leaf: Callable[[str, Kind], Leaf] = public_leaf) -> None:
        self._draw, self._leaf = random.Random(seed), leaf
        self._engine = duckdb.connect()
        self._engine.execute("PRAGMA disable_optimizer")
        self._engine.execute("SET threads = 1")
        self._engine.execute("CREATE TABLE nothing AS SELECT 1 AS c")
        self._empty = min(self._query("SELECT sum(c) FROM nothing", times=20))
        marks = [("".join(each),) for each in itertools.islice(itertools.product("cdefgh", repeat=3), ROWS[Kind.TEXT])]
        self._engine.execute("CREATE TABLE marks (mark VARCHAR, next VARCHAR)")
        pairs = zip(marks, marks[1:] + marks[:1], strict=True)
        self._engine.executemany("INSERT INTO marks VALUES ($1, $2)", [[*one, *other] for one, other in pairs])
        self._table(REFERENCE, "reference")

    def ratio(self, trial: Trial, *, above: float = 2.0) -> float:
        """The time of the trial over its cost, over that of the reference. What seems ``above`` is measured again."""
        ratios: list[float] = []
        for _ in range(4):
            ratios.append(
                self._taken(trial, self._table(trial, "cells")) / self._taken(REFERENCE, "reference", times=2)
            )
            if not above <= min(ratios) < 10 * above:  # cheap, or dear beyond doubt
                break
        return min(ratios)

    def climb(self, found: Found, seconds: float) -> Found:
        """The dearest trial that is found from here."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            trial = found.trial
            for _ in range(self._draw.choice((1, 1, 2, 4))):
                trial = trial.mutated(self._draw)
            ratio = self.ratio(trial)
            found = max(found, Found(ratio, trial), key=lambda each: each.ratio)
        return found

    def seeds(self, operation: str, most: int | None = None) -> list[Trial]:
        """Where a climb begins: what was dear before, and what is far out."""
        start = Trial(operation)
        if start.kind is not Kind.TEXT:
            places = EDGES[:most]
            return [
                replace(start, number=place, other=other) for place, other in zip(places, reversed(places), strict=True)
            ]
        # Almost, and just, what is looked for; and nothing of it.
        ends = ("😀", 450, "b"), ("a", 9, ""), ("😀", 20, ""), ("a", 449, "b"), ("É", 3, ""), ("é", 100, "b")
        begun = [
            replace(start, first=Repeated(unit=unit, repeat=length, tail="b"), cell=Repeated("", unit, LONGEST, tail))
            for unit, length, tail in ends
        ]
        blank = replace(start, cell=Repeated(unit="　", repeat=LONGEST), varied="inside")
        named = replace(start, cell=Repeated("2024-01-01 00:00:00 ", "A", LONGEST))
        return [*begun, blank, replace(start, cell=REFERENCE.cell), named][:most]

    def run(self, seconds: float, operations: Sequence[str] = tuple(OPERATIONS)) -> Mapping[str, Found]:
        """The dearest trial of each operation; half of the time is for those that are dearest so far."""
        best = {}
        for operation in operations:
            tried = [Found(self.ratio(trial), trial) for trial in self.seeds(operation)]
            best[operation] = max(tried, key=lambda each: each.ratio)
        end = time.monotonic() + seconds
        turns = itertools.cycle(operations)
        while time.monotonic() < end:
            dearest = sorted(best.values(), key=lambda each: -each.ratio)[:8]
            for operation in (next(turns), self._draw.choice(dearest).trial.operation):
                best[operation] = self.climb(best[operation], min(1.0, seconds / len(operations)))
        return best

    def _table(self, trial: Trial, name: str) -> str:
        select, parameters = trial.cells()
        self._engine.execute(f"CREATE OR REPLACE TABLE {name} AS {select}", parameters)
        return name

    def _taken(self, trial: Trial, table: str, times: int = 3) -> float:
        """Nanoseconds for a row and a unit of cost."""
        leaf = self._leaf(trial.condition, trial.kind)
        taken = min(self._query(f"SELECT count({leaf.truth()}) FROM {table}", times))
        return (taken - self._empty) / trial.rows() / leaf.cost * 1e9

    def _query(self, sql: str, times: int) -> list[float]:
        taken = []
        for _ in range(times):
            begun = time.process_time()
            self._engine.execute(sql).fetchall()
            taken.append(time.process_time() - begun)
            if taken[-1] > 0.5:
                break
        return taken
