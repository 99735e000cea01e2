"""The rows of a relation that meet a condition, and how many users have one.

Whether a row matches is a function of that row alone: that is the theorem of ``conditions``. Two guards are behind it,
against a fault of the engine: the expression is put into TRY, which is evaluated row by row after a failure, and for
counts the rules of the optimizer are off, so that statistics, which are everybody's rows, cannot decide what is
evaluated. What is wrong with a condition shows when it is read, first by ``conditions``, then by the engine over a row
of nulls. On the data itself nothing is left to fail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sparsegate.conditions import Kind, duckdb_columns, read_condition, read_value
from sparsegate.errors import ConditionError, ParameterError
from sparsegate.tables.columns import check_columns, check_user, identifier
from sparsegate.tables.engine_errors import quiet
from sparsegate.tables.engines.engine import Engine

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

    from sparsegate.conditions.condition import Condition
    from sparsegate.conditions.tree import Node
    from sparsegate.tables.engines.duckdb import Relation

KEPT_RULES = ("unused_columns",)  # of the optimizer: it looks at the query alone


class Matching:
    """Conditions over one relation."""

    def __init__(self, relation: DuckDBPyRelation) -> None:
        import duckdb

        self._relation = relation
        types = dict(zip(relation.columns, relation.types, strict=True))
        self._schema, self._cells = duckdb_columns({name: str(kind.id) for name, kind in types.items()})
        nulls = ", ".join(f"CAST(NULL AS {kind}) AS {identifier(name)}" for name, kind in types.items())
        # Without the optimizer, which would drop a wrong pattern beside a null before it is read.
        self._blank = duckdb.connect()
        self._blank.execute("PRAGMA disable_optimizer")
        self._row = self._blank.sql(f"SELECT {nulls}")

    def check(self, where: str) -> str:
        """Read a condition without the data, or raise ``ConditionError``; returns what a row is asked."""
        condition = read_condition(where, self._schema)
        return self._taken(f"TRY({condition.sql(cells=self._cells)})", condition, "a condition")

    def text(self, per: str, check: Callable[[Node], None]) -> str:
        """Read an expression without the data, or raise ``ConditionError``, as ``check`` may of the tree that was read;
        returns how a row's group is written."""
        try:
            read = read_value(per, self._schema)
            if read.tree.kind not in (Kind.TEXT, Kind.INTEGER, Kind.BOOLEAN, Kind.DATE):
                step = "use for instance year_month(day), or CAST it"
                raise read.refusal("must be text, a whole number, true or false, or a date", step)
            check(read.tree)
            return self._taken(f"TRY(CAST({read.sql(cells=self._cells)} AS VARCHAR))", read, "an expression")
        except ConditionError as error:
            raise error.about("per") from None

    def _taken(self, sql: str, read: Condition, what: str) -> str:
        """The SQL, which the engine takes over a row of nulls."""
        import duckdb

        try:
            self._row.project(sql).fetchall()
        except duckdb.Error as error:
            reason = str(error).partition("\n")[0]
            raise read.refusal(f"must be {what} that the engine takes", reason) from None
        return sql

    def rows(self, where: str) -> DuckDBPyRelation:
        """The rows that match, with all their columns."""
        return self._relation.filter(self.check(where))


def matching_engine(engine: Engine, where: str | None) -> Engine:
    """The engine of a table with the rows that match."""
    if where is None:
        return engine
    step = "filter the DataFrame before you pass it, by a test of each row alone"
    relation = _relation(engine, "where", "not be given", None, step)
    return relation.over(Matching(relation.frame.native).rows(where))


def grouping_engine(engine: Engine, per: str | None, check: Callable[[Node], None]) -> Engine:
    """The engine of a table in which ``per`` is the name of a column: an expression becomes a column, as text."""
    if per is None or per in engine.names:
        return engine
    if per.lower() in map(str.lower, engine.names):
        check_columns(engine.names, [per])
    step = "compute the column before you pass the DataFrame, from each row alone"
    relation = _relation(engine, "per", "be the name of a column", per, step)
    rows = relation.frame.native
    return relation.over(rows.project(f"*, {Matching(rows).text(per, check)} AS {identifier(per)}"))


def _relation(engine: Engine, parameter: str, rule: str, value: str | None, next_step: str) -> Relation:
    from sparsegate.tables.engines.duckdb import Relation

    if not isinstance(engine, Relation):
        raise ParameterError(parameter, f"must {rule} for a table of {engine.name}", value, next_step)
    return engine


class MatchingUsers(Matching):
    """Counts over one relation, of a database of its own, whose optimizer is turned off; ``user`` is the column that
    names a person, None where each row is a unit."""

    def __init__(self, relation: DuckDBPyRelation, *, user: str | None) -> None:
        from sparsegate.tables.engines.duckdb import Relation

        self._counted = "count(*)"
        if user is not None:
            check_columns(relation.columns, [user])
            check_user(Relation(relation).types[user], user)
            self._counted = f"count(DISTINCT {identifier(user)})"
            relation = relation.filter(f"{identifier(user)} IS NOT NULL")
        super().__init__(relation)
        rules = self._blank.sql("SELECT name FROM duckdb_optimizers()").fetchall()
        off = ",".join(rule for (rule,) in rules if rule not in KEPT_RULES)
        relation.query("sparsegate_table", f"SET disabled_optimizers = '{off}'")

    def count(self, where: str) -> int:
        """How many distinct users (or rows) match. This is the private answer: give it to a gate and to nobody."""
        matching = self.rows(where)
        with quiet("the table cannot be counted"):
            ((count,),) = matching.aggregate(self._counted).fetchall()
        return int(count)
