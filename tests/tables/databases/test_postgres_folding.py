"""The collation that folds as the embedded engine does: mended where it does less, refused where it does otherwise."""

from __future__ import annotations

import pytest
from sqlalchemy import create_engine
from tests.support.postgres_cluster import Cluster

from sparsegate.tables.databases import postgres as folding
from sparsegate.tables.databases.postgres import found_folding, mended

CASES = {"lower": {"A": "a", "Σ": "σ"}, "upper": {"a": "A", "ß": "ẞ"}}


def test_what_a_collation_leaves_alone_is_mended() -> None:
    found = mended("C.utf8", {"lower": CASES["lower"], "upper": {"a": "A"}}, CASES)
    assert found is not None
    assert dict(found.corrections) == {"upper": ("ß", "ẞ")}
    assert "translate(x, 'ß', 'ẞ')" in found.sql("upper", "x")
    assert "translate" not in found.sql("lower", "x")


@pytest.mark.parametrize(
    "upper",
    [{"a": "A", "ß": "SS"}, {"a": "A", "ß": "ẞ", "b": "B"}, {"a": "A", "ẞ": "ß"}],
    ids=["otherwise", "one more", "back again"],
)
def test_what_folds_otherwise_is_not_taken(upper: dict[str, str]) -> None:
    assert mended("tr_TR", {"lower": CASES["lower"], "upper": upper}, CASES) is None


def test_a_database_is_asked_about_every_code_point(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = create_engine(cluster.database().replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        known = connection.exec_driver_sql("SELECT count(*) FROM pg_collation WHERE collname = 'C.utf8'").scalar_one()
        found = found_folding(connection)
        assert (found is not None) == bool(known)
        for name in ("POSIX", "und-x-icu"):  # one folds ASCII and no more, the other looks at what stands around
            monkeypatch.setattr(folding, "CANDIDATES", (name,))
            assert found_folding(connection) is None
    engine.dispose()
