"""The hall of audits without its packages: modules written here stand in for them, one sound and one not."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from examples import audit_public
from examples.hall.adapters import ADAPTERS
from examples.hall.entries import ENTRIES, Entry, filter_split, prefix_loss
from examples.hall.environments import Unavailable, Worker
from examples.hall.laws import FilterLaw, noisy_max_loss, onto
from tests.support.goodness import FALSE_ALARM, law_p

PYTHON = Path(sys.executable)
GATE = """
import random
print("packages like to print")
noise = random.Random({seed})

def laplace(scale):
    return noise.expovariate(1 / scale) - noise.expovariate(1 / scale)

def run(answers):
    rho, out = {rho}, []
    for answer in answers:
        out.append(answer + laplace({nu}) >= rho)
        if out[-1]:
            break
    return out
"""


def stand_in(folder: Path, *, rho: str, nu: float, samples: int) -> Entry:
    """A gate that stops at its first positive and claims epsilon = 1."""
    (folder / "fake_gate.py").write_text(GATE.format(seed=5, rho=rho, nu=nu))
    # Five rise and the one that is ABOVE falls: without rho each of the six costs 1/nu, and with it all of them 1.
    pair = ([0] * 6, [1] * 5 + [-1])
    return Entry(
        key="fake",
        package="fake",
        version="1",
        adapter="module",
        title="a stand-in",
        settings={"module": "fake_gate", "epsilon": 1.0},
        options={"neighbours": [pair], "patterns": False, "samples": samples, "confidence": 1 - FALSE_ALARM},
        exact=lambda: math.inf,
    )


@pytest.mark.parametrize(
    ("rho", "nu", "violates"), [("laplace(2.0)", 4.0, False), ("0.0", 2.0, True)], ids=["sound", "flawed"]
)
def test_a_sound_package_passes_and_one_without_noise_on_the_threshold_is_caught(
    tmp_path: Path, rho: str, nu: float, violates: bool
) -> None:
    entry = stand_in(tmp_path, rho=rho, nu=nu, samples=40_000 if violates else 10_000)
    result = audit_public.audit_entry(entry, PYTHON, seeds=(1,), folder=tmp_path)
    assert result["violates"] is violates
    assert (audit_public.bound(result) > 1.0) is violates
    assert result["claim"] == 1.0
    assert result["exact"] == "inf"
    json.dumps(result)  # it can be stored


def test_a_package_that_is_not_there_or_breaks_is_said_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [entry for entry in ENTRIES if entry.package != "sparsegate"]
    assert audit_public.run(entries, install=False, cache=tmp_path) == []
    assert capsys.readouterr().out.count("not installed: run again with --install") == len(entries)
    monkeypatch.setattr(audit_public, "interpreter", lambda *_, **__: PYTHON)
    entry, whole = stand_in(tmp_path, rho="1 / 0", nu=2.0, samples=1_000), audit_public.audit_entry
    monkeypatch.setattr(audit_public, "audit_entry", lambda entry, python: whole(entry, python, folder=tmp_path))
    assert audit_public.run([entry], install=False, cache=tmp_path) == []
    assert "ZeroDivisionError" in capsys.readouterr().out


def test_a_process_that_dies_says_why(tmp_path: Path) -> None:
    (tmp_path / "fake_gate.py").write_text("def run(answers):\n    raise KeyError('no such thing')\n")
    ended = pytest.raises(Unavailable, match="its process ended: KeyError: 'no such thing'")
    with Worker(PYTHON, "module", {"module": "fake_gate", "epsilon": 1.0}, folder=tmp_path) as worker, ended:
        worker([0], 1)
    with pytest.raises(Unavailable, match="No module named 'nowhere'"):
        Worker(PYTHON, "module", {"module": "nowhere", "epsilon": 1.0}, folder=tmp_path)


def test_the_page_shows_the_stored_results_of_the_entries_and_nothing_else(tmp_path: Path) -> None:
    results = audit_public.stored()
    page = (audit_public.ROOT / "docs" / "explanation" / "hall.md").read_text(encoding="utf-8")
    assert audit_public.table(results) in page
    assert {made["key"]: made["version"] for made in results} == {entry.key: entry.version for entry in ENTRIES}
    for entry in ENTRIES:
        assert entry.adapter in ADAPTERS
        assert (entry.exact is None) == (entry.exact_from == "not known")
        assert (entry.options.get("patterns") is False) == ("neighbours" in entry.options)
    for made in results:
        assert made["violates"] is all(run["bound"] > made["claim"] for run in made["audits"])
        assert [run["seed"] for run in made["audits"]] == list(audit_public.SEEDS)
        # A certified bound above the exact loss would be a mistake of ours.
        assert made["exact"] in (None, "inf") or audit_public.bound(made) <= made["exact"]
    audit_public.draw(tmp_path / "hall.png", results)
    assert (tmp_path / "hall.png").stat().st_size > 10_000


def filtered(law: FilterLaw, weights: list[float], runs: int) -> Counter[object]:
    """The filter as its listing has it, many runs at once: who was drawn, and after how many passes."""
    noise = np.random.default_rng(8)
    bar = law.tau + noise.laplace(scale=1 / law.threshold, size=(runs, 1))
    accepted, passes = np.zeros((runs, len(weights)), dtype=bool), np.zeros(runs, dtype=int)
    while (going := accepted.sum(axis=1) < law.uploads).any() and passes.max() < 5:
        heard = np.abs(weights) + noise.laplace(scale=2 * law.uploads / law.query, size=accepted.shape) >= bar
        accepted |= heard & going[:, None]
        passes += going
    places = np.where(accepted, noise.random(accepted.shape), 2.0).argsort(axis=1)  # the accepted, in random order
    among = accepted.sum(axis=1)[:, None]
    picks = noise.integers(0, np.maximum(among, 1), size=(runs, law.uploads))
    drawn = np.take_along_axis(places, picks if law.replace else np.arange(law.uploads)[None, :], axis=1)
    return Counter(
        (frozenset(row), count) if count < 5 else "later"
        for row, count in zip(drawn.tolist(), passes.tolist(), strict=True)
    )


@pytest.mark.parametrize("replace", [True, False])
def test_the_law_of_the_filter_is_that_of_the_filter(replace: bool) -> None:
    weights = [1.0, -0.5, 0.25]
    sets = [frozenset(drawn) for size in (1, 2) for drawn in combinations(range(3), size)]

    def chances(scale: float) -> dict[object, float]:
        law = FilterLaw(uploads=2, threshold=4.0, query=16.0 / scale, release=1.0, replace=replace)
        every = {(drawn, count): law.probability(weights, drawn, count) for drawn in sets for count in range(1, 5)}
        known = {outcome: chance for outcome, chance in every.items() if chance}
        return {**known, "later": 1 - sum(known.values())}

    seen = filtered(FilterLaw(uploads=2, threshold=4.0, query=16.0, release=1.0, replace=replace), weights, 60_000)
    assert law_p(seen, chances(1.0)) > FALSE_ALARM
    assert law_p(seen, chances(1.2)) < FALSE_ALARM


def test_the_filter_and_noisy_max_lose_no_more_than_their_theorems_and_nearly_that() -> None:
    threshold, query = filter_split(1, 1.0)
    law = FilterLaw(uploads=1, threshold=threshold, query=query, release=1.0)
    few, many = ([1.0] + [0.0] * 5, [0.0] + [1.0] * 5), ([1.0] + [0.0] * 40, [0.0] + [1.0] * 40)
    small, large = (law.loss(*pair, frozenset({0}), 2) - 0.5 for pair in (few, many))
    assert 0.7 < small < 0.93 < large < 1.0
    assert noisy_max_loss(1e9, 1.8) == pytest.approx(1.8)
    assert noisy_max_loss(5.0, 1.8) == pytest.approx(1.8 + math.log(2.6 / 3.5))
    assert [onto(3, places) for places in (1, 2, 3)] == [1, 6, 6]


def first_sum_above(counts: list[int], fraction: float, alpha: int) -> list[float]:
    """The law of Tumult's prefix sums as their listing has it: the place of the first that reaches the threshold."""
    sums, noise = np.cumsum(counts), np.arange(-100 * alpha, 100 * alpha + 1)
    threshold, q = int(sums[-1] * fraction) + noise, math.exp(-1 / alpha)
    waiting = (1 - q**2) / (1 + q**2) * q ** (2.0 * np.abs(noise))  # geometric noise of scale alpha / 2
    law = []
    for total in sums[:-1]:
        least = threshold - total
        tail = q ** np.where(least >= 1, least, 1 - least).astype(float) / (1 + q)
        reached = np.where(least >= 1, tail, 1 - tail)
        law.append(float(np.sum(waiting * reached)))
        waiting = waiting * (1 - reached)
    return [*law, float(np.sum(waiting))]


def test_tumults_prefix_sums_lose_three_quarters_of_their_claim() -> None:
    assert prefix_loss() == pytest.approx(0.75)
    before, losses = [0, 0, 0, 3, 0, 0, 0, 3, 3, 0, 1, 3, *[0] * 10, 1, 0], []
    here = first_sum_above(before, 0.9, 4)
    assert sum(here) == pytest.approx(1)
    for place in range(len(before)):
        there = first_sum_above([count + (at == place) for at, count in enumerate(before)], 0.9, 4)
        losses += [abs(math.log(one / other)) for one, other in zip(here, there, strict=True)]
    assert 0.745 < max(losses) <= prefix_loss() * (1 + 1e-9)
