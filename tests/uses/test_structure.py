"""Which edges are chosen, by one noise and by a gate: the whole law on neighbours against what is charged."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from tests.support.goodness import FALSE_ALARM, law_p

import sparsegate as sg
from sparsegate.budget import pure_rho
from sparsegate.errors import BudgetExceeded
from sparsegate.gates.calibration import Calibration
from sparsegate.gates.sparse_vector import gate_calibration
from sparsegate.uses import structure as edge_choice
from sparsegate.uses.structure import gate_forest, largest_forest, noisy_tree, tree_noise
from sparsegate.uses.tree_model import Attributes, NoisyTables, Pair, excesses, noisy_tables, pairs_of, table_weight

# By one noise


EPSILON = Fraction(2)
Scores = dict[Pair, int]


def tree_law(scores, attributes, scale):
    """The probability of every tree, over all orders that the noisy scores can have.

    An order is built from its lowest pair up: ``below[v]`` is the probability that all so far stand in their order and
    the last of them has the noisy score v. Equal scores stand in the public order of pairs, the earlier above.
    """
    lowest = min(scores.values())
    values = np.arange(lowest, max(scores.values()) + math.ceil(40 * scale))
    mass = {
        pair: np.where(values >= score, np.exp(-np.maximum(values - score, 0) / scale), 0) * -math.expm1(-1 / scale)
        for pair, score in scores.items()
    }
    law = defaultdict(float)

    def build(order, below):
        if len(order) == len(scores):
            law[largest_forest(order, attributes)] += float(below.sum())
            return
        upto = np.cumsum(below)
        for pair in scores:
            if pair not in order:
                build((pair, *order), mass[pair] * (upto if pair < order[0] else upto - below))

    for pair in scores:
        build((pair,), mass[pair])
    return law


def loss(one, other, attributes, scale):
    first, second = tree_law(one, attributes, scale), tree_law(other, attributes, scale)
    assert set(first) == set(second)
    return max(abs(math.log(first[tree] / second[tree])) for tree in first)


def neighbouring_scores(attributes):
    """Of rows of ones that go together in the first two attributes, and nowhere else; with one row of ones more."""
    rows = np.zeros((10_000, attributes), dtype=np.int64)
    rows[:150, :2] = 1
    for place in range(2, attributes):
        rows[150 * (place - 1) : 150 * place, place] = 1
    sizes = (2,) * attributes
    once = NoisyTables({(i,): np.array([9850, 150]) for i in range(attributes)}, {(i,): 9.0 for i in range(attributes)})
    more = np.vstack([rows, np.ones((1, attributes), dtype=np.int64)])
    return excesses(rows, sizes, once), excesses(more, sizes, once)


@pytest.mark.parametrize("seed", range(20))
def test_one_row_more_moves_no_score_down_and_none_by_more_than_one(seed):
    generator, sizes = np.random.default_rng(seed), (2, 3, 4)
    rows = generator.integers(0, sizes, (int(generator.integers(0, 40)), 3))
    epsilon = Fraction(int(generator.integers(1, 40)), 10)
    once = noisy_tables(rows, sizes, (), epsilon=epsilon, source=sg.Seeded(seed), not_private=True)
    before = excesses(rows, sizes, once)
    for row in np.ndindex(*sizes):
        after = excesses(np.vstack([rows, [row]]), sizes, once)
        assert all(after[pair] - before[pair] in (0, 1) for pair in before)


@pytest.mark.parametrize(("attributes", "trees"), [(3, 3), (4, 16)])
def test_the_law_of_the_tree_stays_within_epsilon_of_its_neighbour_and_nearly_attains_it(attributes, trees):
    one, other = neighbouring_scores(attributes)
    scale = float(tree_noise(attributes, EPSILON))
    law = tree_law(one, attributes, scale)
    assert len(law) == trees
    assert sum(law.values()) == pytest.approx(1)
    assert 0.98 * EPSILON < loss(one, other, attributes, scale) <= EPSILON * (1 + 1e-9)


@pytest.mark.parametrize("attributes", [3, 4])
def test_noise_of_a_tree_that_is_a_fifth_too_small_is_refused(attributes):
    scale = 0.8 * float(tree_noise(attributes, EPSILON))
    assert loss(*neighbouring_scores(attributes), attributes, scale) > 1.2 * EPSILON


@pytest.mark.parametrize("moves", [(0, 1), (-2, 2)], ids=["one way", "both ways"])
def test_bounded_moves_of_any_scores_stay_within_epsilon_and_some_attain_it(moves):
    """Ties, equal and negative scores, and each pair moved on its own: more than a table can do."""
    generator = np.random.default_rng(5)
    pairs, scale = [(0, 1), (0, 2), (1, 2)], float(tree_noise(3, EPSILON, moves[1] - moves[0]))
    losses = []
    for low, high in ((0, 1), (0, 2), (-5, 8), (0, 60)):
        for _ in range(12):
            before = generator.integers(low, high, 3)
            after = before + generator.choice(moves, 3)
            one, other = (dict(zip(pairs, scores.tolist(), strict=True)) for scores in (before, after))
            losses.append(loss(one, other, 3, scale))
    assert 0.9999 * EPSILON < max(losses) <= EPSILON * (1 + 1e-9)


def test_trees_are_drawn_by_that_law_and_not_by_one_a_fifth_off():
    scores = {(0, 1): 8, (0, 2): 8, (1, 2): 0}
    source = sg.Seeded(3)
    drawn = Counter[Hashable](noisy_tree(scores, 3, epsilon=EPSILON / 4, source=source).edges for _ in range(5_000))
    scale = float(tree_noise(3, EPSILON / 4))
    assert law_p(drawn, tree_law(scores, 3, scale)) > FALSE_ALARM
    assert law_p(drawn, tree_law(scores, 3, 1.2 * scale)) < FALSE_ALARM


# By a gate


Transcript = tuple[bool, ...]


class Scripted:
    """A gate that answers as it is told, and writes down what it was asked; it costs what the real one would."""

    made: Calibration

    def __init__(self, answers, **options):
        for name in ("source", "not_private"):
            del options[name]
        self.made, self._left = gate_calibration(**options), list(answers)
        self.asked: list[tuple[int, int, bool]] = []

    def ask(self, answer, *, threshold):
        said = self._left.pop(0) if self._left else False
        self.asked.append((answer, threshold, said))
        return said

    @property
    def closed(self):
        return sum(said for *_, said in self.asked) == self.made.cutoff

    @property
    def spent(self):
        above = sum(said for *_, said in self.asked)
        return self.made.spent([(len(self.asked) - above, above)])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def log_probability(gate, factor):
    """Of the answers to what was asked: rho and nu geometric, ABOVE iff q + nu >= T + rho + kappa."""
    assert gate.made.row.noise is sg.variants.Noise.EXPONENTIAL
    first, second = (factor * float(scale) for scale in gate.made.scales[:2] if scale is not None)
    rho = np.arange(math.ceil(60 * first))
    chance = np.exp(-rho / first) * -math.expm1(-1 / first)
    for answer, threshold, said in gate.asked:
        least = threshold + rho + gate.made.shift - answer
        above = np.exp(-np.maximum(least, 0) / second)
        chance = chance * (above if said else 1 - above)
    total = float(chance.sum())
    return math.log(total) if total > 0 else -math.inf


def transcripts(run):
    """Every transcript that production can have, found by answering in every way."""
    found = {}
    waiting = [[]]
    while waiting:
        told = waiting.pop()
        gate = run(told)
        said = tuple(answer for *_, answer in gate.asked)
        found[said] = gate
        waiting += [[*said[:place], True] for place in range(len(told), len(said))]
    return found


def asked_of(scores, thresholds, patch):
    def run(told):
        made = []

        def scripted(**options):
            made.append(Scripted(told, **options))
            return made[0]

        patch.setattr(edge_choice, "SparseVector", scripted)
        chosen = gate_forest(scores, 3, thresholds=thresholds, epsilon=EPSILON, source=None)
        assert chosen.spent == made[0].spent
        return made[0]

    return transcripts(run)


def transcript_losses(thresholds, patch, factor=1.0):
    """For each transcript its loss between the neighbours, either way, and what the gate says that it cost."""
    one, other = (asked_of(scores, thresholds, patch) for scores in neighbouring_scores(3))
    assert set(one) == set(other)
    assert sum(math.exp(log_probability(gate, factor)) for gate in one.values()) == pytest.approx(1)
    pairs = []
    for said, gate in one.items():
        logs = log_probability(gate, factor), log_probability(other[said], factor)
        bars = [asked[1] for asked in gate.asked]
        assert bars == [asked[1] for asked in other[said].asked] == sorted(bars, reverse=True)
        assert sum(said) < 2 or said[-1], "a third pair would close a cycle: it is not asked about"
        pairs.append((0.0 if logs[0] == logs[1] else abs(logs[0] - logs[1]), float(gate.spent)))
    return pairs


def centre():
    """The threshold at which the strong pair lies on the noisy one's lower end: there a BELOW tells the most."""
    made = gate_calibration(threshold=1, cutoff=2, sensitivity=1, monotonic=True, epsilon=EPSILON)
    return neighbouring_scores(3)[0][0, 1] - made.shift


@pytest.mark.parametrize("above", [(), (40,), (150, 3)])
def test_no_transcript_loses_more_than_the_gate_says_it_cost_and_one_nearly_does(above, monkeypatch):
    thresholds = tuple(sorted({centre() + more for more in above} | {centre(), 5}, reverse=True))
    found = transcript_losses(thresholds, monkeypatch)
    assert len(found) > 10
    assert all(lost <= spent * (1 + 1e-9) <= EPSILON * (1 + 1e-9) for lost, spent in found)
    assert max(lost for lost, _ in found) > 0.98 * EPSILON


def test_noise_that_is_a_fifth_too_small_is_refused(monkeypatch):
    found = transcript_losses((centre(), 5), monkeypatch, factor=0.8)
    assert max(lost for lost, _ in found) > 1.2 * EPSILON


# The whole release


COLUMNS = {"a": [0, 1, 2], "b": [0, 1], "c": [0, 1], "d": [0, 1]}


def chained(count=5000):
    """a - c - b, and d with nobody."""
    generator = np.random.default_rng(3)
    a = generator.integers(0, 3, count)
    c = np.where(generator.random(count) < 0.85, a == 2, generator.random(count) < 0.5).astype(int)
    b = np.where(generator.random(count) < 0.8, 1 - c, generator.integers(0, 2, count))
    return np.stack([a, b, c, generator.integers(0, 2, count)], axis=1)


def learn(rows=None, seed=1, **options):
    given = {"epsilon": 2, "unit": "row", "source": sg.Seeded(seed), "not_private": True}
    return sg.uses.dependency_tree(chained() if rows is None else rows, COLUMNS, **(given | options))


def test_strong_dependencies_are_found_and_their_tables_are_near_the_truth():
    tree = learn(epsilon=4)
    assert {("a", "c"), ("c", "b")} <= set(tree.edges)
    assert len(tree.edges) == 3
    rows = chained()
    truth = np.array([[np.mean((rows[:, 0] == a) & (rows[:, 2] == c)) for c in (0, 1)] for a in range(3)])
    np.testing.assert_allclose(tree.table("a", "c"), truth, atol=0.02)
    assert tree.rows == pytest.approx(5000, abs=50)
    assert tree.log_likelihood(rows) > -2.6 > learn(epsilon=Fraction(1, 1000)).log_likelihood(rows)


def test_a_gate_finds_the_strong_ones_alone_and_leaves_the_rest_of_its_share_to_the_tables():
    tree = learn(epsilon=4, thresholds=[1700, 800])
    assert tree.edges == (("a", "c"), ("c", "b"))
    assert tree.thresholds == (1700, 800)
    assert tree.edges_epsilon < 4 * edge_choice.EDGES_SHARE
    assert tree.epsilon == 4


@pytest.mark.parametrize("thresholds", [None, [1700, 800], 5000])
def test_all_that_is_drawn_adds_up_to_epsilon(thresholds, monkeypatch):
    counted = []

    def record(*rows, epsilon, **options):
        counted.append(epsilon)
        return noisy_tables(*rows, epsilon=epsilon, **options)

    monkeypatch.setattr(edge_choice, "noisy_tables", record)
    tree = learn(epsilon=2, thresholds=thresholds)
    assert len(counted) == 2
    assert sum(counted) == tree.tables_epsilon == 2 - tree.edges_epsilon


def test_the_ledger_is_charged_before_anything_is_drawn_and_keeps_the_tree(tmp_path, monkeypatch):
    with sg.Ledger.create(tmp_path / "rows.ledger", dataset="rows", budget=5) as ledger:
        tree = sg.uses.dependency_tree(chained(), COLUMNS, epsilon=2, unit="row", ledger=ledger)
        assert sg.uses.DependencyTree.from_dict(ledger.release(2).gave[0]).to_dict() == tree.to_dict()

        def fail(*_, **__):
            raise RuntimeError("drawn")

        monkeypatch.setattr(edge_choice, "noisy_tables", fail)
        with pytest.raises(RuntimeError, match="drawn"):
            sg.uses.dependency_tree(chained(), COLUMNS, epsilon=2, unit="row", ledger=ledger)
        assert ledger.statement().remaining.epsilon == 1
        with pytest.raises(BudgetExceeded):
            sg.uses.dependency_tree(chained(), COLUMNS, epsilon=2, unit="row", ledger=ledger)


@pytest.mark.parametrize("rows", [np.zeros((0, 4), dtype=int), np.zeros((1, 4), dtype=int), np.full((9, 4), 77)])
@pytest.mark.parametrize("thresholds", [None, 10])
def test_a_table_with_hardly_anything_in_it_gives_a_tree_like_any_other(rows, thresholds):
    tree = learn(rows, thresholds=thresholds)
    assert len(tree.sample(5, 1)["a"]) == 5
    assert np.isfinite(tree.log_likelihood(chained(10)))


@pytest.mark.parametrize("share", [0.1, 0.4, 0.5])
def test_two_attributes_are_charged_one_table_at_all_of_epsilon(tmp_path, share):
    """There is one tree, the edge costs nothing, and the table has all of epsilon: so has its rho."""
    ledger = sg.Ledger.create(tmp_path / "x.ledger", dataset="rain", budget=(9, 1e-6))
    rows, columns = {"a": [0, 1] * 9, "b": [0, 0, 1] * 6}, {"a": [0, 1], "b": [0, 1]}
    tree = sg.uses.dependency_tree(rows, columns, epsilon=1, edges_share=share, unit="row", ledger=ledger)
    assert tree.tables_epsilon == 1
    assert 0 <= ledger.statement().spent.rho - pure_rho(Fraction(1)) < Fraction(1, 10**6)


@pytest.mark.parametrize("sizes", [(2, 3, 7, 12), (2, 2, 2, 40), (3, 3, 3, 3)])
def test_no_tree_costs_more_rho_than_is_charged_before_its_edges_are_known(sizes):
    columns = {str(place): range(size) for place, size in enumerate(sizes)}
    split = edge_choice._Split(attributes=Attributes.of(columns), total=Fraction(1), edges=Fraction(1, 4), bars=None)
    charged, singles = split.cost(), [table_weight(size) for size in sizes]
    alone = sum(pure_rho(split.alone * weight / sum(singles)) for weight in singles)
    worst = Fraction(0)
    for edges in combinations(pairs_of(4), 3):
        if len(largest_forest(edges, 4)) == 3:
            weights = [table_weight(sizes[i] * sizes[j]) for i, j in edges]
            worst = max(worst, sum(pure_rho(split.tables * weight / sum(weights)) for weight in weights))
    assert charged.epsilon == 1
    least = alone + pure_rho(split.edges)
    assert least + worst <= charged.rho <= least + pure_rho(split.tables)
    assert len(set(sizes)) == 1 or worst > split.tables**2 / 6  # more than of equal parts


@pytest.mark.parametrize("scores", [(20, 0, 20, 13, 20, 0), (9, 9, 9, 9, 9, 9), (30, 15, 14, 13, 0, 0)], ids=str)
def test_a_preview_promises_what_the_edges_of_trees_keep(scores):
    """By the law of all trees of four attributes; and it is the least that six noises keep below."""
    columns = {name: [0, 1] for name in "abcd"}
    within = sg.uses.preview_tree(columns, epsilon=20, edges_share=Fraction(1, 40)).within
    scale = float(tree_noise(4, Fraction(1, 2)))
    assert (-math.expm1(-(within + 1) / scale)) ** 6 >= 0.95 > (-math.expm1(-within / scale)) ** 6
    pairs = dict(zip(combinations(range(4), 2), scores, strict=True))
    law = tree_law(pairs, 4, scale)

    def strengths(tree):
        return sorted(pairs[pair] for pair in tree)

    best = strengths(largest_forest(sorted(pairs, key=lambda pair: -pairs[pair]), 4))
    kept = [p for tree, p in law.items() if all(a >= b - within for a, b in zip(strengths(tree), best, strict=True))]
    assert sum(kept) >= 0.95
