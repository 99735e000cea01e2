"""A tree of dependencies between attributes, with their tables: learned from people's rows, released once.

Chow and Liu (1968): of all distributions in which each attribute depends on one other, the nearest to the data is made
of the pairs of a spanning tree. Choose the pairs privately, count their tables with noise, and sample.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from sparsegate.budget import Number, Spender, charge, exact_decimal, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.calibration import trusted_source
from sparsegate.mechanisms.sparse_vector import gate_calibration
from sparsegate.noise import Source, exact_scale
from sparsegate.noise.own_settings import own_settings
from sparsegate.uses.structure.attribute_pairs import SENSITIVITY, dependences
from sparsegate.uses.structure.coded_rows import Attributes
from sparsegate.uses.structure.edge_choice import gate_forest, noisy_tree, public_thresholds, tree_noise
from sparsegate.uses.structure.tree_model import DependencyTree
from sparsegate.uses.structure.tree_tables import fitted, noisy_tables

EDGES_SHARE: Final = Fraction(2, 5)
"""Of epsilon, for the choice of the edges; the rest pays for their tables."""


@own_settings
def dependency_tree(
    table: Any,
    columns: Any,
    *,
    epsilon: Number,
    user: str | None = None,
    unit: str | None = None,
    other: Any = None,
    thresholds: Any = None,
    edges_share: Number = EDGES_SHARE,
    ledger: Spender | None = None,
    source: Source | None = None,
    not_private: bool = False,
) -> DependencyTree:
    """Learn which attribute depends on which, and how: a tree to look at, to compare rows with, and to sample from.

    **Theorem.** The result, and all that is computed from it, is epsilon-DP for adding or removing one person.
    *Proof.* A person is one row (``coded_rows``), so the score of each pair moves by at most 2 (``attribute_pairs``)
    and each table of counts by one in one cell. The edges cost e1 = epsilon * ``edges_share`` by one noise for each
    pair, or with ``thresholds`` what the answers of a gate cost, L(m, k) <= e1 (``edge_choice``). The tables of the
    edges, which are chosen by then, cost the rest, epsilon - e1 or epsilon - L(m, k) (``tree_tables``). For every
    outcome the logarithms of the ratios add up to epsilon at most; that the second part is sized by what the first has
    cost is the argument of ``ledger.account``. [] Its pieces are in Coq: `within_compose`, `within_post`
    (proofs/privacy.v), `laplace_answers_are_private` (proofs/laplace_mechanism.v), `metered_is_private`
    (proofs/metered.v).

    Parameters
    ----------
    table: a mapping of columns, a dataframe (pandas, Polars, PyArrow, DuckDB, ...), or a 2-D array of values.
    columns: a mapping from the names of at least two columns to their PUBLIC lists of categories.
    epsilon: the privacy loss of everything together, > 0.
    user: the column that says whose row it is; one row of each person counts, the first by its categories. Or
    unit: "row", where each row is another person.
    other: a mapping from names to the category that takes all values outside of the list; else the first one does.
    thresholds: PUBLIC numbers of rows. With them the edges are chosen by a gate, which asks at the highest first; it
        may find fewer edges, and what it did not pay for them goes to the tables. Without, a spanning tree is found.
    edges_share: how much of epsilon the edges get, strictly between 0 and 1.
    ledger: is charged the whole epsilon before anything is drawn, and keeps the result.
    source, not_private: where the noise comes from; ``Seeded``, for tests, needs ``not_private=True``.

    >>> import sparsegate as sg
    >>> rain = [0, 1] * 2000
    >>> wet = [0, 1, 0, 1, 0, 1, 0, 0] * 500
    >>> rows = {"rain": rain, "wet": wet, "boots": [0, 1, 0, 1, 0, 0, 0, 0] * 500}
    >>> columns = {"rain": [0, 1], "boots": [0, 1], "wet": [0, 1]}
    >>> tree = sg.dependency_tree(rows, columns, epsilon=2, unit="row", source=sg.Seeded(7), not_private=True)
    >>> tree.edges, tree
    ((('rain', 'wet'), ('wet', 'boots')), <DependencyTree of 3 attributes: 2 edges, epsilon 2>)
    >>> tree.table("rain", "wet").round(2).tolist()
    [[0.5, 0.0], [0.13, 0.37]]
    """
    attributes = Attributes.of(columns, other)
    count = len(attributes.names)
    total, first = exact_shares(epsilon, edges_share)
    bars = None if thresholds is None else public_thresholds(thresholds)
    _check_noise(count, total, first, bars)
    noise = trusted_source(source, not_private)
    codes = attributes.codes(table, user=user, unit=unit)
    scores = dependences(codes, attributes.sizes)
    what = f"a dependency tree of {count} attributes"
    keep = charge(ledger, epsilon=total, what=what).keep
    if bars is None:
        chosen = noisy_tree(scores, count, epsilon=first, source=noise)
    else:
        chosen = gate_forest(scores, count, thresholds=bars, epsilon=first, source=noise, not_private=not_private)
    rest = total - chosen.spent
    tables = noisy_tables(codes, attributes.sizes, chosen.edges, epsilon=rest, source=noise, not_private=not_private)
    tree = DependencyTree.of(
        attributes,
        fitted(tables, attributes.sizes),
        edges_epsilon=chosen.spent,
        tables_epsilon=rest,
        thresholds=() if bars is None else bars,
    )
    keep({"release": "dependency_tree", **tree.to_dict()})
    return tree


def exact_shares(epsilon: Number, edges_share: Number) -> tuple[Fraction, Fraction]:
    """Epsilon, and what of it is for the edges."""
    total, share = exact_epsilon(epsilon), exact_decimal(edges_share)
    if share is None or not 0 < share < 1:
        raise ParameterError("edges_share", "must lie strictly between 0 and 1", edges_share, "leave it out")
    return total, total * share


def _check_noise(count: int, total: Fraction, first: Fraction, bars: tuple[int, ...] | None) -> None:
    """Refuse an epsilon whose noise the samplers cannot carry, before anything is read or charged."""
    if bars is None:
        tree_noise(count, first)
    else:
        gate_calibration(threshold=bars[-1], cutoff=count - 1, sensitivity=SENSITIVITY, epsilon=first)
    exact_scale(count / (total - first))  # at most as many tables as attributes,
    exact_scale(1 / total)  # and at least one
