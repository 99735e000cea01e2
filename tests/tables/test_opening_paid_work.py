"""A signal never costs a release that is paid for, whatever the table lives in."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas
import pytest
import sqlalchemy

import sparsegate as sg
from sparsegate.errors import TableError
from sparsegate.tables.opening import PaidWork

VISITS = pandas.DataFrame({"page": ["a"] * 40 + ["b"] * 30, "who": [*range(40), *range(30)]})


class StoppedAccount:
    """An account during whose charge somebody presses Ctrl-C."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.kept: list[Mapping[str, Any]] = []

    def spend(self, *, epsilon: object, delta: object = 0, what: str) -> int:
        signal.raise_signal(self.number)
        return 1

    def keep(self, entry: int, gave: Mapping[str, Any]) -> None:
        self.kept.append(gave)


def tables(folder: Path) -> dict[str, dict[str, Any]]:
    place = f"sqlite:///{folder / 'visits.db'}"
    VISITS.to_sql("visits", sqlalchemy.create_engine(place), index=False)
    return {"pandas": {"data": VISITS}, "database": {"data": place, "table": "visits"}}


@pytest.mark.parametrize("kind", ["pandas", "database"])
def test_ctrl_c_waits_until_what_is_paid_for_is_kept(kind: str, tmp_path: Path) -> None:
    account, given = StoppedAccount(signal.SIGINT), tables(tmp_path)[kind]
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        sg.top_items(
            given.pop("data"), **given, item="page", user="who", count=1, epsilon=1, domain=["a", "b"], ledger=account
        )
    assert [gave["release"] for gave in account.kept] == ["top_items"]
    assert signal.getsignal(signal.SIGINT) is before


def during(work: Callable[[PaidWork], object]) -> None:
    with PaidWork() as signals:
        work(signals)


def test_before_the_charge_a_signal_ends_the_work_at_once() -> None:
    done: list[str] = []

    def work(_: PaidWork) -> None:
        signal.raise_signal(signal.SIGINT)
        done.append("more")

    with pytest.raises(KeyboardInterrupt):
        during(work)
    assert not done


def test_a_signal_that_an_engine_made_an_error_of_is_heard_all_the_same() -> None:
    def work(_: PaidWork) -> None:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise TableError("SQLite could not run a query (OperationalError)")

    with pytest.raises(KeyboardInterrupt):
        during(work)


def test_an_error_without_a_signal_stays_what_it_is() -> None:
    def work(signals: PaidWork) -> None:
        signals.pay()
        raise TableError("the engine is gone")

    with pytest.raises(TableError, match="gone"):
        during(work)
