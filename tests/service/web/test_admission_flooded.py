"""One sender against the others, on a real server: what she sends costs her, and nobody's gate."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.served_process import flood, spawned
from tests.support.serving import MANY, NOBODY, write_visits

from sparsegate.service.client.client import connect

DELAY = 0.5
REFUSED = (
    "CASE "
    + " ".join(f"WHEN seconds = '{i}' THEN page" for i in range(90))
    + f" ELSE page END IN ({','.join(['lower(page)'] * 200)})"
)
"""5 KB that take as long to be read as a condition can."""


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[Any]:
    """A real server with the delay D: two analysts' tokens, and two gates."""
    file = write_visits(tmp_path_factory.mktemp("overload"))
    arguments = (file, "--user", "visitor", "--new-ledger", "--budget", "1000000", "--delay", DELAY, "--headroom", 1)
    with spawned(*arguments) as (_, url, said):
        from sparsegate.ledger.ledger import Ledger
        from sparsegate.service.tokens import Role, Tokens

        ledger = Ledger(f"{file}.ledger")
        tokens = Tokens(ledger)
        texts = [tokens.add(name, Role.ANALYST) for name in ("anna", "mallory")]
        ledger.close()
        with connect(url, re.search(r"sg_[\w-]{43}", said).group()) as owner:
            gates = [owner.open_gate(threshold=100, cutoff=1000, epsilon=100).id for _ in range(2)]
            yield url, texts, gates


def asked(url: str, token: str, gate: str, times: int) -> list[float]:
    """How long the answers to some asks took, each of which must be right."""
    taken = []
    with connect(url, token) as service:
        opened = service.gate(gate)
        for number in range(times):
            begun = time.monotonic()
            assert bool(opened.ask(NOBODY if number % 2 else MANY)) == (number % 2 == 0)
            taken.append(time.monotonic() - begun)
    return taken


def test_refused_conditions_cost_their_sender_and_nobody_else(served):
    """An ask that is lost raises: none is, and a bystander waits twice as long at most."""
    url, (anna, mallory), (hers, other) = served
    alone = statistics.median(asked(url, anna, hers, 4))
    with flood(url, mallory, other, REFUSED, rate=48) as statuses:
        during = asked(url, anna, hers, 8)
    assert 0 < statuses["422"] < 100, "most of them were not even read"
    assert set(statuses) <= {"422", "429"}
    assert statistics.median(during) < 2 * alone
    assert max(during) < 4 * alone


def test_whoever_asks_fifty_times_a_second_waits_for_herself(served):
    """At one gate, where each answer takes D: the other waits for at most one of hers each time."""
    url, (anna, mallory), (hers, _) = served
    with flood(url, mallory, hers, NOBODY, rate=45) as statuses:
        during = asked(url, anna, hers, 4)
    # First come, first served, she would wait behind 32.
    assert statistics.median(during) < 3 * DELAY
    assert max(during) < 8 * DELAY
    assert set(statuses) <= {"200", "429"}
