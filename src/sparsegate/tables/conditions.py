"""Counting how many users have a row that meets a condition, for a gate that asks one condition after another.

**Sensitivity.** A condition is a SQL expression over the columns of one row. It is read by ``tables.predicate`` into an
expression that has a value for every row and that never fails, so whether a row matches is a function of that row
alone. Adding or removing one person then changes each count of distinct users by at most 1, and all of them in one
direction: sensitivity 1, monotonic.

Two guards stand behind that argument, for a part that can fail all the same through a fault of the engine. The
expression is put into TRY, which the engine evaluates row by row after a failure. And the rules of the optimizer are
off, all but the one that leaves out columns: those that look at statistics, which are everybody's rows, cannot decide
what is evaluated.

**Errors.** What is wrong with a condition shows when it is read, in an engine that has never seen the data, in words
that cannot hold a cell. On the data itself nothing is left to fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sparsegate.errors import ParameterError
from sparsegate.tables.columns import check_columns
from sparsegate.tables.engine_errors import quiet
from sparsegate.tables.parsing import Refusal, names_in
from sparsegate.tables.predicate import Reader
from sparsegate.tables.workspace import identifier

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

LONGEST_CONDITION = 10_000

KEPT_RULES = ("unused_columns",)
"""What the optimizer may still do: it looks at the query alone."""


class Conditions:
    """Counts over one relation; ``user`` is the column that names a person, None where each row is a unit.

    The optimizer of the relation's database is turned off, so let it be a database of its own.
    """

    def __init__(self, relation: DuckDBPyRelation, *, user: str | None) -> None:
        import duckdb

        if user is not None:
            check_columns(relation.columns, [user])
        named = None if user is None else identifier(user)
        self._relation = relation if named is None else relation.filter(f"{named} IS NOT NULL")
        self._counted = "count(*)" if named is None else f"count(DISTINCT {named})"
        schema = dict(zip(relation.columns, relation.types, strict=True))
        nulls = ", ".join(f"CAST(NULL AS {kind}) AS {identifier(name)}" for name, kind in schema.items())
        # Without the optimizer, which would drop a wrong literal beside a null before it is read.
        self._blank = duckdb.connect()
        self._blank.execute("PRAGMA disable_optimizer")
        self._row = self._blank.sql(f"SELECT {nulls}")
        self._reader = Reader(self._blank, schema)
        rules = self._blank.sql("SELECT name FROM duckdb_optimizers()").fetchall()
        off = ",".join(rule for (rule,) in rules if rule not in KEPT_RULES)
        relation.query("sparsegate_table", f"SET disabled_optimizers = '{off}'")

    def check(self, where: str) -> str:
        """Read a condition without the data, or raise ``ParameterError``; returns what a row is asked."""
        import duckdb

        if len(where) > LONGEST_CONDITION:
            raise ParameterError("where", f"must have at most {LONGEST_CONDITION} characters", len(where))
        if any("\ud800" <= mark <= "\udfff" for mark in where):  # how Python reads bytes that are no UTF-8
            raise ParameterError("where", "must be UTF-8 text", where)
        try:
            guarded = f"TRY({self._reader.read(where)})"
            self._row.filter(guarded).fetchall()
        except Refusal as refusal:
            reason = str(refusal)
        except duckdb.Error as error:
            first = str(error).partition("\n")[0]
            reason = first.partition(" Error: ")[2] or first
        else:
            return guarded
        raise ParameterError("where", "must be one condition over the columns of a row", where, reason)

    def count(self, where: str) -> int:
        """How many distinct users (or rows) match. This is the private answer: give it to a gate and to nobody."""
        guarded = self.check(where)
        with quiet("the table cannot be counted"):
            ((count,),) = self._relation.filter(guarded).aggregate(self._counted).fetchall()
        return int(count)


def asked_for(conditions: Sequence[str]) -> list[str]:
    """The names of columns in conditions, for a file that has no schema of its own."""
    import duckdb

    names: dict[str, str] = {}
    with duckdb.connect() as blank:
        for condition in conditions:
            for name in names_in(blank, f"SELECT {condition}\n") or ():
                names.setdefault(name.lower(), name)
    return list(names.values())
