"""Counting how many users have a row that meets a condition, for a gate that asks one condition after another.

**Sensitivity.** A condition is a SQL expression over the columns of one row. Whether a row meets it depends on that
row alone: subqueries, aggregates, window functions, random() and row numbers are refused. So adding or removing one
person changes each count of distinct users by at most 1, and all of them in one direction: sensitivity 1, monotonic.

**Errors.** A condition is first tried on one row of nulls with the same columns, in an engine that has never seen the
data: whatever is wrong with it shows there, in words that cannot hold a cell. On the data itself a row that cannot be
evaluated (a cell that is no number, under CAST) does not match, and is no error.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from noisegate.errors import ParameterError, TableError
from noisegate.tables.quiet import quiet
from noisegate.tables.sources import identifier

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation, Expression

LONGEST_CONDITION = 10_000


class Conditions:
    """Counts over one relation; ``user`` is the column that names a person, None where each row is a unit."""

    def __init__(self, relation: DuckDBPyRelation, *, user: str | None) -> None:
        import duckdb

        if user is not None and user not in relation.columns:
            near = difflib.get_close_matches(user, relation.columns, n=3, cutoff=0.4)
            hint = f"; near it: {', '.join(near)}" if near else "; check the name"
            raise TableError(f"the table has no column {user!r}{hint}")
        named = None if user is None else identifier(user)
        self._relation = relation if named is None else relation.filter(f"{named} IS NOT NULL")
        self._counted = "count(*)" if named is None else f"count(DISTINCT {named})"
        schema = zip(relation.columns, relation.types, strict=True)
        nulls = ", ".join(f"CAST(NULL AS {kind}) AS {identifier(name)}" for name, kind in schema)
        # Without the optimizer, which would drop a wrong literal beside a null before it is read.
        self._blank = duckdb.connect()
        self._blank.execute("PRAGMA disable_optimizer")
        self._row = self._blank.sql(f"SELECT {nulls}")

    def check(self, where: str) -> Expression:
        """Try a condition without the data, or raise ``ParameterError``."""
        import duckdb

        if len(where) > LONGEST_CONDITION:
            raise ParameterError("where", f"must have at most {LONGEST_CONDITION} characters", len(where))
        if any("\ud800" <= mark <= "\udfff" for mark in where):  # how Python reads bytes that are no UTF-8
            raise ParameterError("where", "must be UTF-8 text", where)
        try:
            # Alone first: what is one expression by itself cannot close the bracket it is put into below.
            alone = self._row.select(duckdb.SQLExpression(where))
            kinds = [str(kind) for kind in alone.types]
            alone.fetchall()
            guarded = duckdb.SQLExpression(f"TRY({where}\n)")
            self._row.filter(guarded).fetchall()
        except duckdb.Error as error:
            reason = str(error).partition("\n")[0]
        else:
            if kinds == ["BOOLEAN"]:
                return guarded
            reason = "it is not true or false for a row"
        reason = _explained(reason, self._row.columns)
        raise ParameterError("where", "must be one condition over the columns of a row", where, reason)

    def count(self, where: str) -> int:
        """How many distinct users (or rows) match. This is the private answer: give it to a gate and to nobody."""
        guarded = self.check(where)
        with quiet("the table cannot be counted"):
            ((count,),) = self._relation.filter(guarded).aggregate(self._counted).fetchall()
        return int(count)


def _explained(reason: str, columns: Sequence[str]) -> str:
    """The engine's reason, in our words where its own speak of how we call it."""
    reason = reason.partition(" Error: ")[2] or reason
    if missing := re.match(r'Referenced column "(.*)" not found', reason):
        near = difflib.get_close_matches(missing[1], columns, n=3, cutoff=0.4) or list(columns[:5])
        return f"there is no column {missing[1]!r}; near it: {', '.join(near)}"
    if "TRY can not be used in combination" in reason:
        return "a subquery or a random function is not allowed: a row must match by itself"
    if "explicit cast" in reason:
        return f"{reason} (columns of CSV, JSON, FIMI and SQLite sources are text: write CAST(age AS INTEGER) > 30)"
    return reason
