"""One language for the rows of a table: a text is read into a closed tree, and SQL is written from the tree.

    >>> schema = Schema((Column("ward", Kind.TEXT), Column("age", Kind.INTEGER)))
    >>> condition = read_condition("ward = 'ICU' AND (age > 60 OR age IS NULL)", schema)
    >>> print(condition.sql())
    (("ward" = 'ICU') AND (("age" > 60) OR ("age" IS NULL)))

**The language.** Columns, by name or in double quotes; 'text', numbers, TRUE, FALSE, NULL, DATE, TIMESTAMP, TIME '...';
= <> < <= > >=, [NOT] IN, BETWEEN, LIKE, ILIKE and SIMILAR TO, IS [NOT] NULL, TRUE, FALSE and DISTINCT FROM; AND, OR,
NOT; CASE, coalesce; CAST, TRY_CAST and ::, which give null where a value does not convert; + - * / of doubles; and the
functions of ``operations``. Nothing else: no subquery, aggregate, window, parameter, or function that could fail.

**Theorem.** *For every row a condition has a value, true, false or unknown, and it is a function of that row alone.* So
whether a person has a row that matches does not depend on anybody else, and adding or removing one person changes the
number of people who match by at most 1, always in one direction: sensitivity 1, monotonic.

*Proof.* By induction over the tree (``tree``). A column has the value of the row, a literal its own. Every operation of
``operations`` is total: comparisons, IN, BETWEEN, IS and patterns are defined for all values of one kind, and
``reading`` brings their arguments to one kind; arithmetic is that of doubles, with infinities and NaN where integers
overflow; the functions on texts and dates are defined everywhere; a cast is a TRY_CAST, which is null where there is no
value, and a constant that does not convert is refused before there is data. CASE and coalesce choose among values that
are there. AND, OR and NOT are Kleene's, defined on three values. No node reads anything but its arguments: there is no
name in the lexicon for another row, the clock or a random number. (One setting of the engine is read, its time zone,
where a text without a zone is cast to TIMESTAMPTZ; it is the same for all rows.) An expression of total functions of
one row has the same value in every order of evaluation, whatever is left out or done twice, so a correct optimizer,
whose choices depend on everybody's rows, cannot change it. (An expression that can fail is another matter: ``CAST(age
AS TINYINT) > 3 OR age > 5`` would fail on the age 200, or not, depending on whether other rows make the second part
worth asking first.) QED

**Work.** A value that everybody's rows cannot change may still take a time that they can. ``leaves`` are the atomic
tests of a condition: each is worked out for every row by ``SELECT leaf, leaf, ... FROM table`` *without a WHERE and
with the engine's optimizer off* (it would answer ``age = 500`` from the greatest age there is), and ``combine`` puts
the arrays together in the same steps for every row. ``cost`` is a public upper bound of the work on one row, in about
nanoseconds, if text cells have at most ``Schema.max_cell`` characters: see ``operations``. A condition without such a
bound (regular expressions, casts of text, some patterns with _) raises ConditionError there; ``sql()`` is for callers
who show nobody how long it took.

    >>> print(*(leaf.truth() for leaf in condition.leaves))
    ("ward" = 'ICU') ("age" > 60) ("age" IS NULL)
    >>> import numpy as np
    >>> F, U, T = FALSE, UNKNOWN, TRUE  # 0, 1, 2
    >>> condition.combine([np.array([T, T, F]), np.array([F, U, U]), np.array([F, T, T])]) == TRUE
    array([False,  True, False])
"""

from sparsegate.conditions.condition import FALSE, TRUE, UNKNOWN, Condition, Leaf, duckdb_columns
from sparsegate.conditions.reading import names_in, read_condition, read_value
from sparsegate.conditions.tree import MAX_CELL, Column, Kind, Schema
from sparsegate.errors import ConditionError

__all__ = [
    "FALSE",
    "MAX_CELL",
    "TRUE",
    "UNKNOWN",
    "Column",
    "Condition",
    "ConditionError",
    "Kind",
    "Leaf",
    "Schema",
    "duckdb_columns",
    "names_in",
    "read_condition",
    "read_value",
]
