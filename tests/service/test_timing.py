"""With a stopwatch, D off: whether one person is there cannot be told from how long a count takes, nor from the load.

AUC is the chance that a count with the person takes longer than one without: 1/2 tells nothing, 1 everything. Over
2,000 counts each, or windows of a bystander, its standard deviation is 0.009 where nothing is told, so 0.55 is passed
by chance less than once in 1e7. Each table is opened anew again and again: where it comes to lie in memory makes a
difference that is not the person's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest
from scipy.stats import rankdata
from tests.support.neighbours import BASE, ONE_MORE, neighbours, opened
from tests.support.serving import listening, serving

from sparsegate.conditions import read_condition
from sparsegate.service.data.copying import SERVED
from sparsegate.service.data.dataset import ServedTable

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]

OPENINGS, COUNTS, WINDOWS, BATCH = 20, 100, 200, 5
QUESTIONS = (
    "ward = 'ICU'",
    "age < 0 OR stay IS NULL",
    "ward = 'ICU' AND (note LIKE '%00#%' OR note LIKE '%01#%' OR note LIKE '%02#%')",
    "lower(note) = 'x' OR length(note) > 900",
    "lower(note) = ward",
)
BYSTANDERS = {"a note of 30 KB": QUESTIONS[2], "fifty long notes": QUESTIONS[3]}
"""What the one person more has, and the question that would tell."""


def auc(without: list[float], with_one: list[float]) -> float:
    """The chance that a value of the second is larger than one of the first, whichever way that points."""
    ranks = rankdata([*without, *with_one])[len(without) :]
    chance = (ranks.sum() - len(with_one) * (len(with_one) + 1) / 2) / (len(without) * len(with_one))
    return float(max(chance, 1 - chance))


def seconds(count: Callable[[], object]) -> float:
    begun = time.perf_counter()
    count()
    return time.perf_counter() - begun


def test_the_measure_has_teeth(tmp_path: Path) -> None:
    """A count that filters, over cells that were not cut: the attack that was."""
    dear = " OR ".join(f"note LIKE '%{'_' * 180}{number}#'" for number in range(45))
    taken: list[list[float]] = [[], []]
    more = f"{BASE} UNION ALL {ONE_MORE['a note of 30 KB']}"
    for place, query in enumerate((BASE, more)):
        with opened(tmp_path, query, str(place), max_cell=30_000) as data:
            sql = read_condition(f"ward = 'ICU' AND ({dear})", data.schema).sql()
            cursor = data._engine.cursor()
            for _ in range(100):
                taken[place].append(
                    seconds(
                        lambda cursor=cursor, sql=sql: cursor.execute(
                            f"SELECT count(*) FROM {SERVED} WHERE {sql}"
                        ).fetchall()
                    )
                )
    assert auc(*taken) > 0.9


@pytest.mark.parametrize("more", ONE_MORE)
def test_no_stopwatch_tells_whether_one_person_is_there(more: str, tmp_path: Path) -> None:
    taken: dict[str, tuple[list[float], list[float]]] = {text: ([], []) for text in QUESTIONS}
    order = np.random.default_rng(1)
    for _ in range(OPENINGS):
        with neighbours(tmp_path, more) as pair:
            for text, times in taken.items():
                conditions = [read_condition(text, data.schema) for data in pair]
                for _ in range(COUNTS):
                    for place in order.permutation(2):
                        count = pair[place].count
                        times[place].append(seconds(lambda count=count, this=conditions[place]: count(this)))
    found = {text: round(auc(*times), 3) for text, times in taken.items()}
    assert max(found.values()) <= 0.55, found


@pytest.mark.parametrize("more", BYSTANDERS)
def test_no_bystander_tells_whether_one_person_is_there(more: str, tmp_path: Path) -> None:
    """How often the service answers others while it counts; in turns, so that other load falls on both alike."""
    rates: list[list[float]] = [[], []]
    order = np.random.default_rng(2)
    for opening in range(OPENINGS // 2):
        with neighbours(tmp_path, more) as pair, ExitStack() as stack:
            rounds = []
            for place, data in enumerate(pair):
                folder = tmp_path / f"{opening} {place}"
                folder.mkdir()
                service = stack.enter_context(serving(folder, data))
                url = stack.enter_context(listening(service.app))
                rounds.append(stack.enter_context(pings(url, data, BYSTANDERS[more])))
            for _ in range(WINDOWS):
                for place in order.permutation(2):
                    rates[place].append(rounds[place]())
    found = round(auc(*rates), 3)
    assert found <= 0.55


@contextmanager
def pings(url: str, data: ServedTable, text: str) -> Iterator[Callable[[], float]]:
    """A call counts a few times, and gives the answers a second that a bystander got meanwhile."""
    answered, active, stop = 0, threading.Event(), threading.Event()
    condition = read_condition(text, data.schema)

    def ping() -> None:
        nonlocal answered
        with httpx.Client(base_url=url) as client:
            while active.wait() and not stop.is_set():
                assert client.get("/v1/health").status_code == 200
                answered += 1

    def window() -> float:
        active.set()
        before, begun = answered, time.perf_counter()
        for _ in range(BATCH):
            data.count(condition)
        rate = (answered - before) / (time.perf_counter() - begun)
        active.clear()
        return rate

    thread = threading.Thread(target=ping)
    thread.start()
    window()
    try:
        yield window
    finally:
        stop.set()
        active.set()
        thread.join()
