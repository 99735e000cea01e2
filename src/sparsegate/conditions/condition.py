"""A condition that was read: its SQL, and its leaves, each of which is evaluated on every row.

**Why leaves.** An engine stops early: of ``ward = 'ICU' AND dear`` it works out ``dear`` where the ward is ICU, so the
time tells whether somebody is there. So the tree is cut into atomic tests without AND, OR, NOT, CASE and coalesce. Each
is worked out for every row, and their values are combined by arithmetic, which takes the same steps for all of them.

**Three values.** A test is FALSE, UNKNOWN or TRUE: 0, 1 and 2. In this order AND is the least of two, OR the greatest,
and NOT x is 2 - x (Kleene). CASE chooses a value by whether its test is TRUE: by a shift in SQL, and by ``where`` here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

from sparsegate.conditions.costs import Unbounded, cost_of
from sparsegate.conditions.schema import Column, Schema
from sparsegate.conditions.sql import sql_of
from sparsegate.conditions.tree import TRUE as ALWAYS
from sparsegate.conditions.tree import All, Either, Literal, Node, Not, columns_in, split
from sparsegate.errors import ConditionError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FALSE, UNKNOWN, TRUE = 0, 1, 2
MOST_STEPS: Final = 1_000
"""The steps that combine the leaves of one condition: CASE inside of CASE multiplies them."""


@dataclass(frozen=True)
class Step:
    """One step of the combination: "constant" or "leaf" with a number; "least", "greatest", "not" and "choose"."""

    name: str
    number: int = 0
    of: tuple[Step, ...] = ()


Values: TypeAlias = "npt.NDArray[np.int8]"


@dataclass(frozen=True)
class Leaf:
    """One atomic test: it has no AND, OR, NOT, CASE or coalesce, so every engine works all of it out on each row."""

    node: Node
    max_cell: int

    def sql(self, dialect: str = "duckdb") -> str:
        """The test as a number for a row: 0 false, 1 unknown, 2 true."""
        return f"coalesce(2 * CAST({sql_of(self.node, dialect)} AS TINYINT), 1)"

    @property
    def cost(self) -> int:
        """See ``costs``."""
        return cost_of(self.node, self.max_cell)


@dataclass(frozen=True)
class Condition:
    """A condition over the columns of ``schema``; ``text`` is what was written, ``tree`` what was understood."""

    text: str
    schema: Schema
    tree: Node = field(repr=False)

    def sql(self, dialect: str = "duckdb", cells: Mapping[str, str] | None = None) -> str:
        """The whole condition as one expression, for a caller who shows nobody how long it takes; see ``sql_of``."""
        return sql_of(self.tree, dialect, cells)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns that it looks at."""
        return tuple(dict.fromkeys(columns_in(self.tree)))

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The atomic tests, each once. Raises ConditionError for a condition without a public cost."""
        return self._cut[0]

    @cached_property
    def cost(self) -> int:
        """The public upper bound of the work on one row; raises ConditionError where there is none. See ``costs``."""
        return sum(leaf.cost for leaf in self.leaves) + self._cut[2]

    def combine(self, values: Sequence[Values]) -> Values:
        """The value of the condition for every row, from the values of ``leaves``, in that order: 0, 1 or 2."""
        import numpy as np

        def run(step: Step) -> Values:
            match step.name:
                case "constant":
                    return np.full(np.shape(values[0]), step.number, np.int8)
                case "leaf":
                    return values[step.number]
                case "not":
                    return np.int8(2) - run(step.of[0])
                case "choose":
                    test, then, otherwise = map(run, step.of)
                    return np.where(test == TRUE, then, otherwise)
            pick, found = np.minimum if step.name == "least" else np.maximum, run(step.of[0])
            for each in step.of[1:]:
                found = pick(found, run(each))
            return found

        return run(self._cut[1])

    def combined_sql(self, names: Sequence[str]) -> str:
        """``combine`` as SQL over the names under which the leaves stand; functions, which know no short cut."""

        def write(step: Step) -> str:
            below = list(map(write, step.of))
            match step.name:
                case "constant":
                    return str(step.number)
                case "leaf":
                    return names[step.number]
                case "not":
                    return f"(2 - {below[0]})"
                case "choose":
                    test, then, otherwise = below
                    return f"((({otherwise} + 4 * {then}) >> (2 * ({test} >> 1))) & 3)"
            return f"{step.name}({', '.join(below)})"

        return write(self._cut[1])

    @cached_property
    def _cut(self) -> tuple[tuple[Leaf, ...], Step, int]:
        cutter = _Cutter()
        try:
            step = cutter.cut(self.tree)
            leaves = tuple(Leaf(node, self.schema.max_cell) for node in [*cutter.leaves.values()] or [ALWAYS])
            for leaf in leaves:
                leaf.cost  # noqa: B018 -- raises where there is none
        except Unbounded as refused:
            rule, next_step = refused.args
        else:
            return leaves, step, cutter.steps
        raise ConditionError(rule, self.text, 0, len(self.text), next_step=next_step)


class _Cutter:
    """Cuts a tree into leaves and the step that combines them."""

    def __init__(self) -> None:
        self.leaves: dict[str, Node] = {}
        self.steps = 0

    def cut(self, node: Node) -> Step:
        self.steps += 1
        if self.steps > MOST_STEPS:
            rule = f"must come to at most {MOST_STEPS:,} steps, each case of a CASE or coalesce in each comparison"
            raise Unbounded(rule, "compare each branch by itself, with AND and OR")
        match node:
            case Literal(constant=constant):
                return Step("constant", UNKNOWN if constant is None else TRUE if constant else FALSE)
            case All(terms):
                return Step("least", of=tuple(map(self.cut, terms)))
            case Either(terms):
                return Step("greatest", of=tuple(map(self.cut, terms)))
            case Not(term):
                return Step("not", of=(self.cut(term),))
        if found := split(node):
            return Step("choose", of=tuple(map(self.cut, found)))
        self.leaves.setdefault(sql := sql_of(node), node)
        return Step("leaf", list(self.leaves).index(sql))
