"""How a database changes the case of text: the collation that does it as the embedded engine does.

A collation of the operating system, or of PostgreSQL's own, folds code point by code point; one of ICU looks at what
stands around. So candidates are of the first sort, and each is asked what becomes of every code point of the first two
planes (no letter beyond them has a case). Where it leaves a character alone that the embedded engine folds, that can be
mended, for a few (``Folding.corrections``); where it changes one otherwise, it is not taken. Nothing of this looks at
the table.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection

from sparsegate.conditions import Condition
from sparsegate.conditions.postgres_sql import Folding
from sparsegate.tables.columns import identifier

CANDIDATES: Final = ("pg_c_utf8", "C.utf8", "C.UTF-8", "en_US.utf8", "en_US.UTF-8")
FUNCTIONS: Final = ("lower", "upper")
MOST_MENDED: Final = 16
"""Each costs a look at every character of every cell."""
_POINTS: Final = "BETWEEN 1 AND 131071 AND i NOT BETWEEN 55296 AND 57343"

Cases = dict[str, dict[str, str]]


def folds(condition: Condition) -> bool:
    """Whether it changes the case of text: only then a collation is looked for."""
    return any("lower(" in leaf.sql() or "upper(" in leaf.sql() for leaf in condition.leaves)


def found_folding(connection: Connection) -> Folding | None:
    """The first candidate that folds as the embedded engine does, if there is one."""
    wanted = _embedded()
    names = ", ".join(f"'{name}'" for name in CANDIDATES)
    rows = connection.exec_driver_sql(
        f"""SELECT collname::text FROM pg_collation WHERE collname IN ({names}) AND collprovider IN ('c', 'b')
        AND collencoding IN (-1, 6) AND collnamespace = 'pg_catalog'::regnamespace"""
    )
    there = {str(name) for (name,) in rows}
    for name in CANDIDATES:
        if name in there and (folding := mended(name, _asked(connection, name), wanted)) is not None:
            return folding
    return None


def mended(collation: str, found: Cases, wanted: Cases) -> Folding | None:
    """The collation with its corrections, or None where there are none that would do.

    >>> mended("C.utf8", {"upper": {"a": "A"}}, {"upper": {"a": "A", "ß": "ẞ"}})
    Folding(collation='C.utf8', corrections={'upper': ('ß', 'ẞ')})
    >>> mended("tr_TR", {"upper": {"i": "İ"}}, {"upper": {"i": "I"}}) is None
    True
    """
    corrections = {}
    for function, cases in wanted.items():
        own = found[function]
        wrong = {mark for mark in cases.keys() | own.keys() if cases.get(mark) != own.get(mark)}
        if len(wrong) > MOST_MENDED or any(mark in own or cases[mark] in own for mark in wrong):
            return None
        if wrong:
            old = "".join(sorted(wrong))
            corrections[function] = (old, "".join(cases[mark] for mark in old))
    return Folding(collation=collation, corrections=corrections)


def _asked(connection: Connection, collation: str) -> Cases:
    fold = ", ".join(
        f'{function}(x COLLATE {identifier(collation)}) COLLATE "C" AS {function}' for function in FUNCTIONS
    )
    rows = connection.exec_driver_sql(
        f"""SELECT x, lower, upper FROM (SELECT x, {fold} FROM (
            SELECT chr(i) COLLATE "C" AS x FROM generate_series(1, 131071) AS i WHERE i {_POINTS} OFFSET 0) AS points
        OFFSET 0) AS folded WHERE lower <> x OR upper <> x"""
    )
    return _cases(rows.all())


def _embedded() -> Cases:
    import duckdb

    with duckdb.connect() as engine:
        points = f"SELECT i::INT AS i FROM range(131072) AS t(i) WHERE i {_POINTS}"
        engine.execute(f"CREATE TABLE points AS SELECT chr(i) AS x FROM ({points})")
        return _cases(engine.execute("SELECT x, lower(x), upper(x) FROM points").fetchall())


def _cases(rows: object) -> Cases:
    cases: Cases = {function: {} for function in FUNCTIONS}
    for mark, *folded in rows:  # type: ignore[attr-defined]
        for function, becomes in zip(FUNCTIONS, folded, strict=True):
            if becomes != mark:
                cases[function][mark] = becomes
    return cases
