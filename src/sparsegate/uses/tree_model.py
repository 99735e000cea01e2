"""A tree of dependencies as it is released: a distribution over rows, to look at, to compare rows with, to sample.

Every attribute has a parent or is a root; a row is drawn from the roots down, each attribute by its parent's category.
All of it is computed from what was released, so sampling as many rows as one likes costs nothing more. The noise that
protects people is in the tables; the coins of ``sample`` protect nobody and may come from any generator.

**Rows** are small whole numbers: the place of each value in a public list. One that the list lacks takes that of the
category declared for the others, so no error, and no number of rows, depends on what a row holds. A person counts with
one row, the first of theirs by the order of categories: adding or removing one person adds or removes one row.

**Pairs of attributes.** With n, p and q fitted to noisy counts of each attribute that were released before, and c(x, y)
rows, E = sum over x, y of max(0, c(x, y) - floor(n p(x) q(y) + t(x, y))), t half a standard deviation of the noise in n
p(x) q(y). **Theorem.** One row more moves E by 0 or by 1, for all pairs up: it adds 1 to one cell of each pair.

**Tables.** One person is in one cell of each noisy table, so that the 1/b of their scales add up to epsilon. What
follows looks at nothing but noisy counts, and costs nothing: no count is below 0; one marginal for each attribute;
shrinking towards independence where noise explains the distance; a floor, so that no row that somebody holds has
probability zero. Why, step by step: docs/explanation/proofs_in_words/uses.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import exact_count
from sparsegate.display.charts import new_figure
from sparsegate.display.plain import exact_text, plain_label, printable
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Tabular
from sparsegate.errors import ParameterError, TableError
from sparsegate.gates.laplace import laplace
from sparsegate.noise import Source
from sparsegate.tables.columns import check_columns, check_unit
from sparsegate.tables.engines.engine import ColumnType, open_engine
from sparsegate.tables.identity import people
from sparsegate.tables.labels import BOOLEAN, STRING
from sparsegate.tables.online import Label, category_labels
from sparsegate.tables.python_tables import has_an_engine, is_table, read_table
from sparsegate.uses.records import category_places, contingency

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Codes: TypeAlias = NDArray[np.int64]  # one row for each person, one column for each attribute
MOST_CATEGORIES: Final = 1000  # of one attribute: a table of two attributes then has a million cells at most
_EXAMPLE: Final = 'pass for instance columns={"country": ["DE", "FR", "other"], "smokes": [0, 1]}'


@dataclass(frozen=True, kw_only=True)
class Attributes:
    """Attributes and their public categories, in the order given; ``others`` is the place of what is in no list."""

    names: tuple[str, ...]
    categories: tuple[tuple[Label, ...], ...]
    others: tuple[int, ...]

    @classmethod
    def of(cls, columns: Any, other: Any = None) -> Attributes:
        """Check a mapping of two columns or more to their public categories, and one to those for other values."""
        if not isinstance(columns, Mapping) or len(columns) < 2:
            rule = "must map the names of two columns or more to their public lists of categories"
            raise ParameterError("columns", rule, columns, _EXAMPLE)
        categories = {name: category_labels(name, values) for name, values in columns.items()}
        for name, labels in categories.items():
            if len(labels) > MOST_CATEGORIES:
                rule = f"must list at most {MOST_CATEGORIES} categories of {name!r}"
                raise ParameterError("columns", rule, len(labels), "merge categories")
        others = {} if other is None else other
        if not isinstance(others, Mapping) or not set(others) <= set(categories):
            rule = "must map names of columns to the category that takes all other values"
            raise ParameterError("other", rule, other, 'pass for instance other={"country": "other"}')
        for name, label in others.items():
            if label not in categories[name]:
                raise ParameterError("other", f"must be one of the categories of {name!r}", label, "add it to columns")
        places = tuple(labels.index(others[name]) if name in others else 0 for name, labels in categories.items())
        return cls(names=tuple(categories), categories=tuple(categories.values()), others=places)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many categories each attribute has."""
        return tuple(map(len, self.categories))

    def codes(self, table: Any, *, user: str | None = None, unit: str | None = None) -> Codes:
        """The rows of a table, one for each person; private.

        ``table`` is a mapping of columns, a table of pandas, Polars or PyArrow, or a 2-D array whose columns are the
        attributes in their order. ``user`` names the column that says whose row it is; a row that is nobody's is left
        out. What is refused depends on names, types and lengths alone.
        """
        check_unit(user, unit)
        held, types = self._columns(table, user)
        if len({len(column) for column in held.values()}) > 1:
            raise ParameterError("table", "must have columns of one length", next_step="check how it is made")
        places = list(zip(self.names, self.categories, self.others, strict=True))
        for name, labels, _ in places:  # by the type of the table alone: what the cells of objects are is private
            words = "text" if isinstance(labels[0], str) else "numbers"
            if types[name] not in (None, words):  # all of its rows would be other values, without a word
                wrong = f"column {name!r} holds {types[name]}, and its categories are {words}"
                raise TableError(f"{wrong}; cast one of the two")
        codes = np.stack([category_places(held[name], labels, other=other) for name, labels, other in places], axis=1)
        return codes if user is None else _one_row_each(codes, held[user])

    def _columns(self, table: Any, user: str | None) -> tuple[dict[str, Any], dict[str, str | None]]:
        """The cells of each column that is asked for, and what its type says that they are."""
        if isinstance(table, np.ndarray):
            table = table if np.ma.isMaskedArray(table) else np.asarray(table)  # columns of a matrix are no columns
            if table.ndim != 2 or table.shape[1] != len(self.names):
                rule = f"must be an array of rows with {len(self.names)} columns, those of columns= in their order"
                raise ParameterError("table", rule, table.shape, "or pass a mapping of columns, or a dataframe")
            if user is not None:
                raise ParameterError("user", "must not be given with an array, whose columns have no names", user)
            return dict(zip(self.names, table.T, strict=True)), dict.fromkeys(self.names, _array_type(table))
        wanted = list(dict.fromkeys([*self.names, *([] if user is None else [user])]))  # it may be an attribute, too
        if isinstance(table, Mapping):
            check_columns([name for name in table if isinstance(name, str)], wanted)
            return {name: _flat(table[name]) for name in wanted}, {name: _array_type(table[name]) for name in wanted}
        if not is_table(table):
            rule = "must be a mapping of columns, a dataframe or a 2-D array"
            raise ParameterError("table", rule, type(table).__name__, "pass for instance a pandas DataFrame")
        if has_an_engine(table):
            engine = open_engine(table)
            check_columns(engine.names, wanted)
            rows, types = engine.rows(engine.frame.select(*wanted)), engine.types
            cells = {name: [row[place] for row in rows] for place, name in enumerate(wanted)}
        else:
            table = table.collect() if hasattr(table, "collect") else table  # a lazy one of Polars
            types = read_table(table, wanted).types
            check_columns(list(getattr(table, "column_names", table.columns)), wanted)
            columns = ((name, table[name]) for name in wanted)
            cells = {name: each.to_pylist() if hasattr(each, "to_pylist") else each.to_list() for name, each in columns}
        return cells, {name: _words(types[name]) for name in wanted}


def _words(dtype: ColumnType) -> str | None:
    """What the type of a column says that its cells are."""
    return "numbers" if dtype.numeric or dtype.kind is BOOLEAN else "text" if dtype.kind is STRING else None


def _flat(values: Any) -> Any:
    """The cells of a column: an array of numpy as it is, anything else as a list."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__") or getattr(values, "ndim", 1) != 1:
        raise TableError("every column of the table must be a flat list, array or series; check how it is made")
    return list(values)


def _array_type(values: Any) -> str | None:
    kind = values.dtype.kind if isinstance(values, np.ndarray) else "O"
    return "numbers" if kind in "biuf" else "text" if kind == "U" else None


def _one_row_each(codes: Codes, users: Any) -> Codes:
    """Of each person's rows the first in the order of the categories; who is a person: ``tables.identity``."""
    numbers: dict[str, int] = {}
    keys = people(users.tolist() if isinstance(users, np.ndarray) else users)
    owners = np.array([-1 if key is None else numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
    order = np.lexsort((*codes.T[::-1], owners))
    owners = owners[order]
    first = (owners >= 0) & np.append(True, owners[1:] != owners[:-1])[: len(owners)]
    kept: Codes = codes[order][first]
    return kept


Counts: TypeAlias = NDArray[np.int64]
Pair: TypeAlias = tuple[int, int]  # two attributes by their places, the lower first


def pairs_of(attributes: int) -> list[Pair]:
    """Every pair of this many attributes, in their public order."""
    return list(combinations(range(attributes), 2))


def joint_counts(codes: Codes, sizes: Sequence[int], i: int, j: int) -> Counts:
    """How many rows have each category of i, going down, with each of j; private."""
    return contingency(codes[:, i], codes[:, j], shape=(sizes[i], sizes[j]))


Floats: TypeAlias = NDArray[np.float64]

_HALF_A_ROW: Final = 0.5
_FLOOR: Final = 0.75  # of the noise of a table: the least that is sampled of a cell


class NoisyTables(NamedTuple):
    """What is released: a table for each edge, and one for each attribute without an edge, with the noise of each."""

    tables: Mapping[tuple[int, ...], Counts | Floats]
    """By the attributes that a table counts: two of an edge, or one."""
    scales: Mapping[tuple[int, ...], float]


class Fitted(NamedTuple):
    """A distribution over forests: the shares of each attribute, a table of shares for each edge, and how many rows."""

    shares: tuple[Floats, ...]
    joint: Mapping[Pair, Floats]
    rows: float


def exact_tables(codes: Codes, sizes: Sequence[int], edges: Sequence[Pair]) -> dict[tuple[int, ...], Counts]:
    """The counts of the edges; private."""
    return {edge: joint_counts(codes, sizes, *edge) for edge in edges}


def table_weight(cells: int) -> int:
    """The share of epsilon of a table with this many cells, in proportion: k**(1/3), in thousandths."""
    return round(1000 * math.cbrt(cells))


def noisy_tables(
    codes: Codes,
    sizes: Sequence[int],
    edges: Sequence[Pair],
    *,
    epsilon: Fraction,
    source: Source | None,
    not_private: bool = False,
) -> NoisyTables:
    """The counts of the edges, and of attributes without one, with noise; all of them together are epsilon-DP."""
    ends = {end for edge in edges for end in edge}
    exact = exact_tables(codes, sizes, edges)
    exact |= {(i,): np.bincount(codes[:, i], minlength=size) for i, size in enumerate(sizes) if i not in ends}
    weights = {key: table_weight(table.size) for key, table in exact.items()}
    # A person is in one cell of each table, so what the tables cost adds up.
    shares = {key: epsilon * weight / sum(weights.values()) for key, weight in weights.items()}
    noisy = {
        key: laplace(table, epsilon=shares[key], sensitivity=1, source=source, not_private=not_private)
        for key, table in exact.items()
    }
    return NoisyTables(noisy, {key: float(1 / share) for key, share in shares.items()})


_MOST_ROWS: Final = 2.0**62  # more than any table has, and an integer of 64 bits


def excesses(codes: Codes, sizes: Sequence[int], once: NoisyTables) -> dict[Pair, int]:
    """E of every pair of attributes, beyond their noisy counts; private. One person more moves each by 0 or 1, up.

    The tables are made one after the other, and none is kept: those of attributes with many categories are large.
    """
    alone = fitted(once, sizes)
    scores = {}
    for i, j in pairs_of(len(sizes)):
        down, across = alone.shares[i][:, None], alone.shares[j][None, :]
        noise = np.hypot(once.scales[i,] * across, once.scales[j,] * down) / math.sqrt(2)
        explained = np.minimum(np.floor(alone.rows * down * across + noise), _MOST_ROWS).astype(np.int64)
        scores[i, j] = int(np.maximum(joint_counts(codes, sizes, i, j) - explained, 0).sum())
    return scores


def both(first: NoisyTables, second: NoisyTables) -> NoisyTables:
    """The tables of two releases; what both have counted is averaged, by their variances."""
    tables, scales = dict(first.tables), dict(first.scales)
    for key, table in second.tables.items():
        tables[key], scales[key] = table, second.scales[key]
        if key in first.tables:
            trust = [1 / released.scales[key] ** 2 for released in (first, second)]
            tables[key] = np.average([first.tables[key], table], axis=0, weights=trust)
            scales[key] = sum(trust) ** -0.5
    return NoisyTables(tables, scales)


_LEAST_NOISE: Final = 1e-3  # the scale that a table without noise is taken to have, so that weights are finite


def fitted(noisy: NoisyTables, sizes: Sequence[int]) -> Fitted:
    """The distribution of noisy tables, step by step as above."""
    scales = {key: max(_LEAST_NOISE, noisy.scales[key]) for key in noisy.tables}
    trust = [1 / (table.size * scales[key] ** 2) for key, table in noisy.tables.items()]
    rows = max(1.0, float(np.average([table.sum() for table in noisy.tables.values()], weights=trust)))
    tables = {key: _not_negative(table, rows) for key, table in noisy.tables.items()}
    halves = {key: (table + noisy.tables[key]) / 2 for key, table in tables.items()}
    marginals = [_marginal(halves, scales, attribute, rows) for attribute in range(len(sizes))]
    joint = {}
    for key, table in tables.items():
        if len(key) == 1:
            continue
        i, j = key
        product = np.multiply.outer(marginals[i], marginals[j]) / rows
        cells = table + ((marginals[i] - table.sum(axis=1)) / sizes[j])[:, None]
        cells = cells + (marginals[j] - cells.sum(axis=0)) / sizes[i]
        cells = _shrunk(cells, product, (sizes[i] - 1) * (sizes[j] - 1) * 2 * scales[key] ** 2)
        cells = np.maximum(cells, np.minimum(max(_HALF_A_ROW, _FLOOR * scales[key]), product))
        for _ in range(_SCALINGS):
            cells = cells * (marginals[i] / cells.sum(axis=1))[:, None]
            cells = cells * (marginals[j] / cells.sum(axis=0))
        joint[i, j] = cells / cells.sum()
    return Fitted(tuple(marginal / marginal.sum() for marginal in marginals), joint, rows)


_SCALINGS: Final = 50  # of rows and columns in turn: the shares of two attributes are then theirs to many digits


def _not_negative(table: Counts | Floats, total: float) -> Floats:
    """The nearest table without negative cells that has this total, by squares."""
    falling = np.sort(table, axis=None)[::-1].astype(np.float64)
    excess = (np.cumsum(falling) - total) / np.arange(1, table.size + 1)
    cut = excess[np.flatnonzero(falling > excess)[-1]]
    projected: Floats = np.maximum(table - cut, 0.0)
    return projected


def _marginal(
    tables: Mapping[tuple[int, ...], Floats], scales: Mapping[tuple[int, ...], float], attribute: int, rows: float
) -> Floats:
    """The mean of an attribute's marginals, weighed by 1/variance, shrunk towards equal parts, with a floor."""
    around = [(table, key) for key, table in tables.items() if attribute in key]
    sums = [table.sum(axis=tuple(k for k, end in enumerate(key) if end != attribute)) for table, key in around]
    size = sums[0].size
    weights = [size / (2 * table.size * scales[key] ** 2) for table, key in around]
    variance = 1 / sum(weights)
    mean = np.average(sums, axis=0, weights=weights)
    level = mean + (rows - mean.sum()) / size
    shrunk = _shrunk(level, np.full(size, rows / size), (size - 1) * variance)
    floored = np.maximum(_not_negative(shrunk, rows), max(_HALF_A_ROW, min((variance / 8) ** 0.5, rows / (4 * size))))
    scaled: Floats = floored * (rows / floored.sum())
    return scaled


def _shrunk(measured: Floats, shape: Floats, expected: float) -> Floats:
    """What was measured, drawn towards a shape as far as noise explains the distance: ``expected`` of its square."""
    away = measured - shape
    distance = float((away**2).sum())
    return shape + max(0.0, 1 - expected / distance) * away if distance > 0 else shape


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
    >>> tree = sg.uses.dependency_tree(rows, {"rain": [0, 1], "wet": [0, 1]}, epsilon=2, unit="row", **seeded)
    >>> tree.edges, tree.table("rain", "wet").round(2).tolist()
    ((('rain', 'wet'),), [[0.5, 0.0], [0.13, 0.37]])
    >>> {name: cells.tolist() for name, cells in tree.sample(4, rng=1).items()}
    {'rain': [1, 1, 0, 1], 'wet': [1, 1, 0, 1]}
    >>> sg.uses.DependencyTree.from_dict(tree.to_dict()).edges == tree.edges
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
    """What the counts of single attributes and the tables cost."""
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
                at_place = codes[parent] == place
                codes[child][at_place] = np.searchsorted(ends, drawn[at_place], side="right")
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
        edges = [{"parent": end, "child": child, "strength": self.strength(end, child)} for end, child in self.edges]
        amounts = {name: exact_text(getattr(self, name)) for name in ("epsilon", "edges_epsilon", "tables_epsilon")}
        return {
            "schema": SCHEMA,
            "items": edges,
            "columns": {name: [plain_label(label) for label in labels] for name, labels in self.columns.items()},
            "others": {name: plain_label(label) for name, label in self.others.items()},
            "roots": {name: shares.tolist() for name, shares in self.roots.items()},
            "conditionals": {name: rows.tolist() for name, rows in self.conditionals.items()},
            "rows": self.rows,
            **amounts,
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
        strengths = [self.strength(*edge) for edge in self.edges]
        return Sheet(
            title=f"{len(self.edges)} dependencies of {len(self.columns)} attributes",
            brief=f"epsilon {exact_text(self.epsilon)}; strength is the distance from independence, from 0 to 1",
            columns={"parent": parents, "child": children, "strength": strengths},
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
        wide, deep = (1 + max(ends) for ends in zip(*layout(self).values(), strict=True))
        figure: Figure = new_figure(max(6.0, 1.15 * wide), max(2.5, 1.15 * deep))
        draw_on(figure.add_subplot(), self)
        return figure

    def __repr__(self) -> str:
        size = f"{len(self.columns)} attributes: {len(self.edges)} edges"
        return f"<DependencyTree of {size}, epsilon {exact_text(self.epsilon)}>"


def _parents(edges: tuple[Pair, ...], attributes: int) -> list[tuple[int, int | None]]:
    """Every attribute with its parent, None for the root of its part; parents come first, and lower ones before."""
    near: dict[int, list[int]] = {attribute: [] for attribute in range(attributes)}
    for first, second in sorted(edges):
        near[first].append(second)
        near[second].append(first)
    parents: dict[int, int | None] = {}
    for start in range(attributes):
        waiting: list[tuple[int, int | None]] = [] if start in parents else [(start, None)]
        for attribute, parent in waiting:
            parents[attribute] = parent
            waiting.extend((second, attribute) for second in near[attribute] if second not in parents)
    return list(parents.items())


_LONGEST = 16
_LINE, _INK, _PAPER = "#4c78a8", "#222222", "#ffffff"


def draw_on(axes: Any, tree: DependencyTree) -> None:
    """A box for each attribute on these axes, a line for each edge, with its strength."""
    places = layout(tree)
    for parent, child in tree.edges:
        (x, y), (to_x, to_y) = places[parent], places[child]
        strength = tree.strength(parent, child)
        axes.plot([x, to_x], [-y, -to_y], color=_LINE, lw=0.8 + 12 * strength, zorder=1, solid_capstyle="round")
    for name in tree.columns:
        x, y = places[name]
        box = {"boxstyle": "round,pad=0.3", "facecolor": _PAPER, "edgecolor": _INK, "linewidth": 0.8}
        axes.text(x, -y, _short(name), ha="center", va="center", fontsize=8, bbox=box, zorder=2, parse_math=False)
    axes.set_axis_off()
    axes.margins(0.12)


def layout(tree: DependencyTree) -> dict[str, tuple[float, int]]:
    """For each attribute its place from the left, leaves one apart, and its depth."""
    children = {name: [child for parent, child in tree.edges if parent == name] for name in tree.columns}
    depth = dict.fromkeys(tree.roots, 0)
    for parent, child in tree.edges:
        depth[child] = depth[parent] + 1
    order, waiting = list[str](), list(tree.roots)[::-1]
    while waiting:
        order.append(waiting.pop())
        waiting += children[order[-1]][::-1]
    left = {name: float(place) for place, name in enumerate(name for name in order if not children[name])}
    for name in reversed(order):  # children stand after their parents
        if below := children[name]:
            left[name] = sum(left[child] for child in below) / len(below)
    return {name: (left[name], depth[name]) for name in tree.columns}


def _short(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
