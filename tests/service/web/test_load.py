"""Many at once, with the delay that the service sets itself: nothing is lost, and nobody's gate closes."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from tests.support.serving import MANY, NOBODY, listening, serving, visits

from sparsegate.service.client.client import connect
from sparsegate.service.deadline import DelayPlan

GATES, ASKS = 24, 4


def test_questions_at_many_gates_at_once_are_all_answered(tmp_path: Path) -> None:
    with visits(tmp_path) as data, serving(tmp_path, data, epsilon=10**6) as probe:
        commits = 2 * probe.keeper.ledger.commit_seconds()
        pace = DelayPlan.measured(look=data.look_seconds(), commits=commits)
        (tmp_path / "loaded").mkdir()
        # A busy machine may be ten times as slow for a moment: what is held here is that asks do not slow one another.
        pace = replace(pace, delay=4 * pace.delay)
        with (
            serving(tmp_path / "loaded", data, epsilon=10**6, pace=pace) as made,
            listening(made.app) as url,
        ):
            gates, wrong = [made.open_gate(cutoff=100) for _ in range(GATES)], []

            def work_at(gate: str) -> None:
                try:
                    with connect(url, made.analyst) as service:
                        opened = service.gate(gate)
                        found = [bool(opened.ask(where)) for where in (MANY, NOBODY) * (ASKS // 2)]
                        if found != [True, False] * (ASKS // 2):
                            wrong.append(f"{gate}: {found}")
                except Exception as error:
                    wrong.append(f"{gate}: {error!r}")

            threads = [threading.Thread(target=work_at, args=(gate,)) for gate in gates]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert wrong == []
            assert {view["lost"] for view in made.keeper.gates()} == {0}
