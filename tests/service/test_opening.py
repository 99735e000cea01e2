"""Data that is read anew: under the rules of a start on changed data, and with the old copy where it is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
from tests.support.postgres_cluster import Cluster
from tests.support.rows import ask

from sparsegate.errors import BudgetExceeded, GateClosed, ParameterError
from sparsegate.ledger.account import EntryKind
from sparsegate.ledger.ledger import Ledger
from sparsegate.service.data.dataset import ServedTable, TableSource
from sparsegate.service.data.sizes import FillTerms
from sparsegate.service.gates import KeyedRequest
from sparsegate.service.keeper import Keeper
from sparsegate.service.keys import SealingKey
from sparsegate.service.opening import KeeperTerms


@contextmanager
def opened(folder: Path, source: TableSource, budget: float = 1000) -> Iterator[tuple[KeeperTerms, Keeper]]:
    """A keeper over a table and a new ledger, and what it was made from."""
    with ExitStack() as stack:
        ledger = Ledger.create(folder / "visits.ledger", dataset="visits", budget=budget, budget_delta=1e-6)
        stack.enter_context(closing(ledger))
        terms = KeeperTerms(ledger=ledger, key=SealingKey.create(folder / "visits.key"), delay=0.0)
        data = stack.enter_context(ServedTable.read(source))
        yield terms, stack.enter_context(closing(terms.keeper(data)))


def written(file: Path, people: int) -> str:
    file.write_text("visitor,country\n" + "".join(f"{person},DE\n" for person in range(people)))
    return str(file)


@pytest.fixture(params=["file", "database"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[TableSource, Path | psycopg.Connection]]:
    """What is read, and where it can be changed."""
    if request.param == "file":
        file = tmp_path / "visits.csv"
        yield TableSource(files=[written(file, 300)], user="visitor"), file
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    url = cluster.database()
    with psycopg.connect(url, autocommit=True) as session:
        session.execute("CREATE TABLE visits AS SELECT i AS visitor, 'DE' AS country FROM generate_series(1, 300) AS i")
        yield TableSource(files=[url], table="visits", user="visitor"), session


def asked(keeper: Keeper, gate: str, key: str) -> bool:
    return keeper.ask(KeyedRequest(token=1, key=key), gate, "country = 'DE'").above


def test_what_has_not_changed_is_no_new_copy_and_what_has_closes_gates_only_where_that_is_agreed(
    tmp_path: Path, table: tuple[TableSource, Path | psycopg.Connection]
) -> None:
    source, place = table
    with opened(tmp_path, source) as (terms, keeper):
        gate = keeper.open_gate(KeyedRequest(token=1, key="gate"), threshold=100, cutoff=3, epsilon=100)["id"]
        assert terms.refreshed(keeper, close_gates=False) is None
        if not isinstance(place, Path):
            place.execute("UPDATE visits SET country = country")  # the same rows, in other places
            assert terms.refreshed(keeper, close_gates=True) is None
        assert asked(keeper, gate, "one")
        if isinstance(place, Path):
            written(place, 400)
        else:
            place.execute("INSERT INTO visits SELECT i, 'DE' FROM generate_series(301, 400) AS i")
        before = terms.ledger.statement()
        with pytest.raises(ParameterError) as refused:
            terms.refreshed(keeper, close_gates=False)
        assert refused.value.parameter == "close_gates"
        assert terms.ledger.statement() == before
        new = terms.refreshed(keeper, close_gates=True)
        assert new is not None
        with closing(new), new.dataset:
            # The old gate is closed, and gave back what it did not use; sizes are paid for again.
            kinds = [(entry.kind, entry.what.partition(",")[0]) for entry in terms.ledger.entries()]
            assert [kind for kind, _ in kinds].count(EntryKind.REFUND) == 1
            assert kinds.count((EntryKind.SPEND, "sizes")) == 2
            with pytest.raises(GateClosed):
                asked(new, gate, "two")
            assert (ask(keeper.dataset, "TRUE"), ask(new.dataset, "TRUE")) == (300, 400)


def test_sizes_that_the_budget_does_not_pay_for_leave_the_old_copy(tmp_path: Path) -> None:
    file = tmp_path / "visits.csv"
    with opened(tmp_path, TableSource(files=[written(file, 300)], user="visitor"), budget=1) as (terms, keeper):
        written(file, 400)
        with pytest.raises(BudgetExceeded):
            replace(terms, sizes=FillTerms(epsilon=Fraction(2))).refreshed(keeper, close_gates=True)
        assert ask(keeper.dataset, "TRUE") == 300


@pytest.mark.parametrize(("workers", "places"), [(1, 4), (2, 2), (3, 1), (8, 1)])
def test_workers_share_the_places_that_the_delay_is_measured_for(
    workers: int, places: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D is measured with as many counts at once as all workers together make."""
    measured: list[int] = []
    monkeypatch.setattr("sparsegate.service.opening.slowdown", lambda work, at_once: measured.append(at_once) or 1.0)
    with opened(tmp_path, TableSource(files=[written(tmp_path / "visits.csv", 300)], user="visitor")) as (terms, _):
        measured.clear()
        source = TableSource(files=[str(tmp_path / "visits.csv")], user="visitor")
        with ServedTable.read(source) as data, closing(replace(terms, workers=workers).keeper(data)) as keeper:
            assert (keeper.pace.places, measured) == (places, [places * workers])
