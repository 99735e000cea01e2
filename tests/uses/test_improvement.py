"""`improved`: one record moves a question by one unit at most, the loss is what was paid, bad input costs nothing."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.support.accounts import Noted
from tests.support.processes import in_forked_child

import sparsegate as sg
from sparsegate.gates.gate import Gate
from sparsegate.gates.variants import Scales
from sparsegate.privacy import loss
from sparsegate.testing import assert_private
from sparsegate.uses.records import STEPS

CANDIDATES = [[0.0, 0.3, 1.0], [1.0, math.nan, -2.0], [7.0, 1.0, 0.5], [0.2, math.inf, -math.inf]]

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "early_stopping.md"


def made(**options):
    given = {"by": 0.2, "size": 1000, "epsilon": 1, "cutoff": 2} | options
    return sg.uses.improved(**given, source=sg.Seeded(options.pop("seed", 1)), not_private=True)


def right(many, of=1000):
    return np.arange(of) < many


class Scripted:
    """In place of a gate: it notes what it is asked and answers as it was told."""

    closed, positives = False, 0

    def __init__(self, answers):
        self.left, self.asked = list(answers), []

    def ask(self, answer):
        self.asked.append(answer)
        return sg.ABOVE if self.left.pop(0) else sg.BELOW


def questions(records, script):
    """What the gate is asked about these records when it answers so."""
    gate = Scripted(script)
    better = sg.uses.Improvement(gate, by=0.2, size=1000, patience=None, ends=(0, 1))
    for candidate in CANDIDATES:
        better([candidate[record] for record in records])
    return gate.asked


SCRIPTS = list(itertools.product((False, True), repeat=len(CANDIDATES) - 1))


def neighbours():
    """All validation sets of records 0, 1, 2 with one of them left out, the empty set included."""
    for size in range(1, 4):
        for records in itertools.combinations_with_replacement(range(3), size):
            for out in range(size):
                yield list(records), [*records[:out], *records[out + 1 :]]


def test_one_record_moves_every_question_by_one_unit_at_most_whatever_was_answered():
    moved = [
        abs(one - other)
        for here, there in neighbours()
        for script in SCRIPTS
        for one, other in zip(questions(here, script), questions(there, script), strict=True)
    ]
    assert max(moved) == STEPS
    assert made()._gate._calibration.lattice.sensitivity == STEPS


@pytest.mark.parametrize("closes", ["above", "rarer"])
def test_no_neighbours_lose_more_than_was_paid_and_the_monotonic_scale_would(closes):
    calibration = made(epsilon=1, cutoff=1, closes=closes)._gate._calibration
    assert calibration.epsilon == 1
    row = replace(calibration.row, gap=False)
    rho, nu, _ = (None if scale is None else scale / STEPS for scale in calibration.scales)

    def worst(scales):
        found = 0.0
        # Records that differ from candidate to candidate by all they can, both ways.
        for said in ((False, False), (False, True), (True,)):
            for record in itertools.product((-1, 1), repeat=len(said)):
                here = [STEPS * (20 if not above else -20) for above in said]
                there = [count + STEPS * move for count, move in zip(here, record, strict=True)]
                for one, other in ((here, there), (there, here)):
                    public = {"cutoff": 1, "sensitivity": STEPS, "noise": "lattice", "scales": scales}
                    found = max(found, loss(row, one, other, said, threshold=0, **public))
        return found

    assert worst(Scales(rho, nu, None)) <= 1 + 1e-9
    assert worst(Scales(rho, nu / 2, None)) > 1.2


def test_the_auditor_finds_nothing_and_finds_it_where_thirty_times_as_much_is_spent():
    candidates = [[0, 0, 0, 0], [0, 0, 0, 1], [1, 1, 0, 0], [0, 1, 1, 1]]

    def spending(epsilon):
        # Of twenty times the size, which is not among what the noise depends on, so that there is nothing to warn of.
        calibration, source = made(size=80, epsilon=epsilon, cutoff=1)._gate._calibration, sg.Seeded(3)

        def told(present):
            gate = Gate(calibration, threshold=STEPS, source=source, not_private=True)
            better = sg.uses.Improvement(gate, by=0.25, size=4, patience=None, ends=(0, 1))
            return "".join("BA"[bool(better(values[:present]))] for values in candidates if not better.finished)

        return told

    pairs = {"neighbours": [(4, 3), (3, 4)], "patterns": False, "batch": False, "samples": 1_000, "seed": 1}
    assert_private(spending(1), epsilon=1, **pairs)
    with pytest.raises(AssertionError, match="NOT private"):
        assert_private(spending(30), epsilon=1, **pairs)


def test_the_estimate_is_of_the_improvement_of_the_mean_in_units_of_the_values():
    better = made(low=-10, high=0, by=2, size=4000)
    better(np.full(4000, -9.0))
    answer = better(np.full(4000, -2.0))
    assert answer.estimate == pytest.approx(7, abs=4 * answer.standard_error)
    assert 0 < answer.standard_error < 0.1


def test_patience_stops_after_so_many_in_a_row_and_gives_back_what_they_did_not_cost(tmp_path):
    with sg.Ledger.create(tmp_path / "x.ledger", dataset="x", budget=2) as ledger:
        better = sg.uses.improved(by=0.2, size=10_000, epsilon=1, cutoff=3, patience=2, ledger=ledger)
        assert ledger.total_spent().epsilon == 1
        for many in (1000, 1100, 9000, 9000, 9100):
            assert not better.finished
            better(right(many, 10_000))
        assert better.finished
        assert float(ledger.total_spent().epsilon) == pytest.approx(float(better.spent), abs=1e-11)
        assert better.spent < 1
        with pytest.raises(sg.GateClosed, match="2 candidates in a row"):
            better(right(0, 10_000))


def test_other_records_are_refused_and_their_number_is_not_told():
    better = made()
    better(right(10))
    with pytest.raises(sg.ParameterError, match="values must be of the same records each time; pass all of them$"):
        better(right(10, 999))
    with pytest.raises(sg.ParameterError, match="values must be one number or truth value"):
        better(["1"])
    better.close()
    with pytest.raises(sg.GateClosed, match="closed by hand"):
        better(right(10))
    assert repr(better) == "<Improvement by 0.2: 1 candidates, the best was number 0; 0 of 2 improvements, closed>"


@pytest.mark.filterwarnings("error")
def test_a_bar_within_the_noise_is_warned_of_before_anything_is_charged():
    account = Noted()
    with pytest.raises(sg.errors.SparsegateWarning, match="no better will often pass"):
        sg.uses.improved(by=0.001, size=1000, epsilon=1, cutoff=2, ledger=account)
    assert account.charged == []


def test_in_the_child_of_a_fork_it_is_over_and_closes_though_the_parent_was_asking():
    better = made()
    better(right(10))
    with better._lock:
        assert in_forked_child(better.close, seconds=5) is None
        assert isinstance(in_forked_child(lambda: better(right(10)), seconds=5), sg.GateClosed)
    assert not better.finished


def test_the_margins_of_the_page_are_those_of_the_gates():
    page = PAGE.read_text(encoding="utf-8")
    for closes in ("above", "rarer"):
        gates = [sg.SparseVector.preview(cutoff=c, epsilon=1, sensitivity=1.0, closes=closes) for c in (3, 5, 8, 20)]
        assert f'| `closes="{closes}"` | {" | ".join(str(math.ceil(gate.margin)) for gate in gates)} |' in page


def test_candidates_are_compared_with_the_best_and_not_with_the_last():
    """Of 10,000 records 500 more must be right than of the best, at noise of about ten: 450 more are not enough."""
    better = sg.uses.improved(by=0.05, size=10_000, epsilon=100, cutoff=3)
    right = [5_000, 4_000, 5_450, 5_550, 5_000, 5_950, 6_100]
    assert [bool(better(np.arange(10_000) < many)) for many in right] == [True, False, False, True, False, False, True]
    assert (better.best, better.seen, better.improvements, better.finished) == (6, 7, 2, False)
    two_sided = made(closes="rarer", cutoff=1, by=0.1, epsilon=2)
    assert all(two_sided(np.arange(1000) < many) for many in range(100, 901, 200))
    assert not two_sided.finished
    assert not two_sided(np.arange(1000) < 900)
    with pytest.raises(sg.GateClosed, match="all its answers"):
        two_sided(np.arange(1000) < 950)
