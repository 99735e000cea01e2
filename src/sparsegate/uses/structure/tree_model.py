"""A tree of dependencies as it is released: a distribution over rows, to look at, to compare rows with, to sample.

Every attribute has a parent or is a root; a row is drawn from the roots down, each attribute by its parent's category.
All of it is computed from what was released, so sampling as many rows as one likes costs nothing more. The noise that
protects people is in the tables; the coins of ``sample`` protect nobody and may come from any generator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sparsegate.budget import exact_count
from sparsegate.display.plain import exact_text, plain_label
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Tabular
from sparsegate.errors import ParameterError
from sparsegate.tables.online.categories import Label
from sparsegate.uses.structure.attribute_pairs import Pair
from sparsegate.uses.structure.coded_rows import Attributes
from sparsegate.uses.structure.tree_tables import Fitted, Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEMA = "sparsegate/tree/1"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DependencyTree(Tabular):
    """What ``dependency_tree`` returns.

    ``columns`` are the categories of each attribute, ``edges`` pairs (parent, child), parents before their children.
    ``roots`` has the shares of the categories of each attribute without a parent, ``conditionals`` for each child a
    table: a row for each category of its parent, which sums to one. ``rows`` is about how many people there are.

    >>> import sparsegate as sg
    >>> rows = {"rain": [0, 1] * 2000, "wet": [0, 1, 0, 1, 0, 1, 0, 0] * 500}
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> tree = sg.dependency_tree(rows, {"rain": [0, 1], "wet": [0, 1]}, epsilon=2, unit="row", **seeded)
    >>> tree.edges, tree.table("rain", "wet").round(2).tolist()
    ((('rain', 'wet'),), [[0.5, 0.0], [0.12, 0.38]])
    >>> {name: cells.tolist() for name, cells in tree.sample(4, rng=1).items()}
    {'rain': [1, 1, 0, 1], 'wet': [1, 1, 0, 1]}
    >>> sg.DependencyTree.from_dict(tree.to_dict()).edges == tree.edges
    True
    """

    columns: Mapping[str, tuple[Label, ...]]
    others: Mapping[str, Label]
    """The category of each attribute that stands for all values that are not listed."""
    edges: tuple[tuple[str, str], ...]
    roots: Mapping[str, Floats]
    conditionals: Mapping[str, Floats]
    rows: float
    edges_epsilon: Fraction
    """What the choice of the edges cost."""
    tables_epsilon: Fraction
    """What the tables cost."""
    thresholds: tuple[int, ...] = ()
    """The public thresholds that edges were held against, where a gate chose them."""

    @classmethod
    def of(
        cls,
        attributes: Attributes,
        fit: Fitted,
        *,
        edges_epsilon: Fraction = Fraction(0),
        tables_epsilon: Fraction = Fraction(0),
        thresholds: tuple[int, ...] = (),
    ) -> Self:
        """The tree of fitted tables: the first attribute of each part is its root."""
        names, parents = attributes.names, _parents(tuple(fit.joint), len(attributes.names))
        conditionals = {}
        for child, parent in parents:
            if parent is not None:
                joint = fit.joint[parent, child] if parent < child else fit.joint[child, parent].T
                conditionals[names[child]] = joint / joint.sum(axis=1, keepdims=True)
        return cls(
            columns=dict(zip(names, attributes.categories, strict=True)),
            others={name: attributes.categories[i][attributes.others[i]] for i, name in enumerate(names)},
            edges=tuple((names[parent], names[child]) for child, parent in parents if parent is not None),
            roots={names[child]: fit.shares[child] for child, parent in parents if parent is None},
            conditionals=conditionals,
            rows=fit.rows,
            edges_epsilon=edges_epsilon,
            tables_epsilon=tables_epsilon,
            thresholds=thresholds,
        )

    @property
    def epsilon(self) -> Fraction:
        """What all of it cost."""
        return self.edges_epsilon + self.tables_epsilon

    def share(self, name: str) -> Floats:
        """The shares of an attribute's categories, in their order."""
        if name not in self.columns:
            raise ParameterError("name", f"must be one of {', '.join(self.columns)}", name)
        parents = {child: parent for parent, child in self.edges}
        way = [name]
        while way[-1] in parents:
            way.append(parents[way[-1]])
        shares = self.roots[way.pop()]
        while way:
            shares = shares @ self.conditionals[way.pop()]
        return shares

    def table(self, parent: str, child: str) -> Floats:
        """The shares of the pairs of categories of an edge, the parent's going down."""
        if (parent, child) not in self.edges:
            raise ParameterError("child", "must be joined to its parent by an edge", (parent, child), "see edges")
        return self.share(parent)[:, None] * self.conditionals[child]

    def strength(self, parent: str, child: str) -> float:
        """How far an edge is from independence, from 0 to 1: the total variation distance from the product."""
        joint = self.table(parent, child)
        return float(np.abs(joint - np.multiply.outer(joint.sum(axis=1), joint.sum(axis=0))).sum()) / 2

    def sample(self, count: int, rng: np.random.Generator | int | None = None) -> dict[str, np.ndarray[Any, Any]]:
        """This many rows, as a mapping of columns: ``pandas.DataFrame(tree.sample(1000))``."""
        size, generator = exact_count(count, "count"), np.random.default_rng(rng)
        codes: dict[str, Any] = {
            name: generator.choice(shares.size, size=size, p=shares) for name, shares in self.roots.items()
        }
        for parent, child in self.edges:
            upto, drawn = self.conditionals[child].cumsum(axis=1)[:, :-1], generator.random(size)
            codes[child] = np.empty(size, dtype=np.int64)
            for place, ends in enumerate(upto):  # one after the other: rows times categories may not fit in memory
                here = codes[parent] == place
                codes[child][here] = np.searchsorted(ends, drawn[here], side="right")
        return {name: np.array(labels)[codes[name]] for name, labels in self.columns.items()}

    def log_likelihood(self, table: Any) -> float:
        """The mean logarithm, in nats, of the probability of the rows of a table. Of private rows it is private.

        The table is one that ``dependency_tree`` takes, and other values go where they went there.
        """
        codes = Attributes.of(self.columns, self.others).codes(table, unit="row")
        if not len(codes):
            raise ParameterError("table", "must have rows", 0, "pass rows that were held out")
        places = {name: codes[:, place] for place, name in enumerate(self.columns)}
        logs = [np.log(shares)[places[name]] for name, shares in self.roots.items()]
        logs += [np.log(self.conditionals[child])[places[parent], places[child]] for parent, child in self.edges]
        return float(sum(logs).mean())  # type: ignore[union-attr]

    def to_dict(self) -> dict[str, Any]:
        """The whole tree as JSON takes it; ``from_dict`` reads it again."""
        return {
            "schema": SCHEMA,
            "items": [
                {"parent": parent, "child": child, "strength": self.strength(parent, child)}
                for parent, child in self.edges
            ],
            "columns": {name: [plain_label(label) for label in labels] for name, labels in self.columns.items()},
            "others": {name: plain_label(label) for name, label in self.others.items()},
            "roots": {name: shares.tolist() for name, shares in self.roots.items()},
            "conditionals": {name: rows.tolist() for name, rows in self.conditionals.items()},
            "rows": self.rows,
            "epsilon": exact_text(self.epsilon),
            "edges_epsilon": exact_text(self.edges_epsilon),
            "tables_epsilon": exact_text(self.tables_epsilon),
            "thresholds": list(self.thresholds),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """The tree that ``to_dict`` wrote, from a file or from a ledger: it can be sampled again at no cost."""
        try:
            if stored["schema"] != SCHEMA:
                raise KeyError
            tree = cls(
                columns={name: tuple(labels) for name, labels in stored["columns"].items()},
                others=dict(stored["others"]),
                edges=tuple((edge["parent"], edge["child"]) for edge in stored["items"]),
                roots={name: np.array(shares, dtype=np.float64) for name, shares in stored["roots"].items()},
                conditionals={name: np.array(rows, dtype=np.float64) for name, rows in stored["conditionals"].items()},
                rows=float(stored["rows"]),
                edges_epsilon=Fraction(stored["edges_epsilon"]),
                tables_epsilon=Fraction(stored["tables_epsilon"]),
                thresholds=tuple(stored["thresholds"]),
            )
            tree._check()
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, ParameterError):
            rule = f"must be what to_dict gave, of the schema {SCHEMA}"
            raise ParameterError("stored", rule, next_step="pass the whole object") from None
        return tree

    def _check(self) -> None:
        """Whether the parts fit each other: a ValueError or a KeyError where they do not."""
        Attributes.of(self.columns, self.others)
        sizes = {name: len(labels) for name, labels in self.columns.items()}
        shapes: dict[str, tuple[int, ...]] = {name: (sizes[name],) for name in self.roots}
        for parent, child in self.edges:
            if parent not in shapes or child in shapes:
                raise ValueError("every attribute comes once, after its parent")
            shapes[child] = (sizes[parent], sizes[child])
        laws = {**self.roots, **self.conditionals}
        if {name: law.shape for name, law in laws.items()} != shapes or set(shapes) != set(sizes):
            raise ValueError("every attribute has its law")
        if not all((law >= 0).all() and np.allclose(law.sum(axis=-1), 1) for law in laws.values()):
            raise ValueError("shares add up to one")

    def sheet(self) -> Sheet:
        """The edges as rows."""
        parents, children = zip(*self.edges, strict=True) if self.edges else ((), ())
        return Sheet(
            title=f"{len(self.edges)} dependencies of {len(self.columns)} attributes",
            brief=f"epsilon {exact_text(self.epsilon)}; strength is the distance from independence, from 0 to 1",
            columns={
                "parent": parents,
                "child": children,
                "strength": [self.strength(parent, child) for parent, child in self.edges],
            },
            numbers=frozenset({"strength"}),
            bars="strength",
            precision=0.01,
            about={
                "epsilon of the edges": exact_text(self.edges_epsilon),
                "epsilon of the tables": exact_text(self.tables_epsilon),
                "rows, about": f"{self.rows:,.0f}",
            },
        )

    def plot(self) -> Figure:
        """The tree, roots above; a thicker line is a stronger dependency."""
        from sparsegate.uses.structure.tree_drawing import draw_tree

        return draw_tree(self)

    def __repr__(self) -> str:
        return (
            f"<DependencyTree of {len(self.columns)} attributes: {len(self.edges)} edges, "
            f"epsilon {exact_text(self.epsilon)}>"
        )


def _parents(edges: tuple[Pair, ...], attributes: int) -> list[tuple[int, int | None]]:
    """Every attribute with its parent, None for the root of its part; parents come first, and lower ones before."""
    near: dict[int, list[int]] = {attribute: [] for attribute in range(attributes)}
    for one, other in sorted(edges):
        near[one].append(other)
        near[other].append(one)
    found: dict[int, int | None] = {}
    for start in range(attributes):
        waiting: list[tuple[int, int | None]] = [] if start in found else [(start, None)]
        for attribute, parent in waiting:
            found[attribute] = parent
            waiting.extend((other, attribute) for other in near[attribute] if other not in found)
    return list(found.items())
