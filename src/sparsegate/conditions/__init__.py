"""One language for the rows of a table: a text is read into a closed tree, and SQL is written from the tree.

    >>> schema = Schema((Column("ward", Kind.TEXT), Column("age", Kind.INTEGER)))
    >>> condition = read_condition("ward = 'ICU' AND (age > 60 OR age IS NULL)", schema)
    >>> print(condition.sql())
    (("ward" = 'ICU') AND (("age" > 60) OR ("age" IS NULL)))

**Theorem.** *For every row a condition has a value, true, false or unknown, and it is a function of that row alone.* So
adding or removing one person changes the number of people who match by at most 1, always in one direction: sensitivity
1, monotonic. Proof, and what the work on a row may tell: docs/explanation/proofs_in_words/conditions.md. What can be
written: docs/reference/conditions.md.

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
