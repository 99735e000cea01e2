"""Whatever a call returns prints as a table, and its repr is one short line."""

from __future__ import annotations

import dataclasses
import importlib
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len
from tests.support.display import release

import sparsegate as sg
from sparsegate import paper, privacy
from sparsegate.conditions import Column, Kind, Schema
from sparsegate.display.tabular import Printed
from sparsegate.ledger.account import Amount, Entry, EntryKind, Release, Statement
from sparsegate.service.client import RemoteAnswer, RemotePreview, RemoteQuota, RemoteToken, ServedData, read_top
from sparsegate.tables.release import TopItems
from sparsegate.tables.session import Description

SEEDED: dict[str, Any] = {"source": sg.Seeded(1), "not_private": True}
NOW = datetime(2031, 5, 1, 12, 0, tzinfo=UTC)
ENTRY = Entry(number=1, at=NOW, kind=EntryKind.BUDGET, amount=Amount(epsilon=Fraction(9)), what="the budget")
SPENT = Entry(number=2, at=NOW, kind=EntryKind.SPEND, amount=Amount(epsilon=Fraction(1)), what="top 3 of page")


def grouped() -> TopItems:
    table = {"country": ["DE"] * 50 + ["FR"] * 40, "visitor": [*range(90)], "page": ["/home"] * 50 + ["/pay"] * 40}
    asked: dict[str, Any] = {"item": "page", "user": "visitor", "per": "country", "groups": ["DE", "FR"]}
    return sg.top_items(table, count=1, epsilon=20, domain=["/home", "/pay"], **asked, **SEEDED)


def itemsets() -> sg.uses.FrequentItemsets:
    baskets = {"shopper": [i for i in range(400) for _ in "ab"], "article": ["bread", "salt"] * 400}
    asked: dict[str, Any] = {"item": "article", "user": "shopper", "domain": ["bread", "salt"], "size": 2}
    return sg.uses.frequent_itemsets(baskets, count=3, epsilon=20, answers_epsilon=20, **asked, **SEEDED)


def tree() -> sg.uses.DependencyTree:
    rows = {"rain": [0, 1] * 500, "wet": [0, 1, 0, 0] * 250}
    return sg.uses.dependency_tree(rows, {"rain": [0, 1], "wet": [0, 1]}, epsilon=20, unit="row", **SEEDED)


def verdict() -> sg.Verdict:
    noise = np.random.default_rng(1)

    def half_the_noise(answers: Any, runs: int) -> Any:
        return answers[0] + noise.laplace(scale=0.5, size=runs)

    return sg.audit(half_the_noise, epsilon=1, queries=1, samples=2_000, seed=1)


RESULTS: dict[str, Callable[[], Any]] = {
    "Selection": lambda: sg.select_top(
        {"/home": 9120, "/a page of a very long name indeed, and longer": 15}, count=1, epsilon=9, sensitivity=1
    ),
    "TopItems": lambda: release(answers_epsilon=30),
    "TopItems of sums": lambda: release(item="page\x1b[31m of 東京"),
    "TopItems of groups": grouped,
    "FrequentItemsets": itemsets,
    "DependencyTree": tree,
    "Tuned": lambda: sg.uses.tune(
        lambda rate, rng: (rate, None), candidates=[0.1], each=sg.uses.RunCost.gaussian(5), mean=3, delta=1e-6, **SEEDED
    ),
    "Preview of items": lambda: sg.preview(count=10, epsilon=0.5, domain=5000),
    "Preview": lambda: sg.SparseVector.preview(threshold=9, cutoff=2, epsilon=1, sensitivity=1),
    "Series": lambda: sg.preview(count=2, epsilon=1, domain=9, times=3, budget=2).series,
    "Verdict": verdict,
    "HoldoutScore": lambda: sg.uses.HoldoutScore(value=0.75, paid=True, margin=0.02, remaining=4),
    "OnlineAnswer": lambda: sg.uses.OnlineAnswer(
        estimate=12.5, paid=True, checked=True, margin=3.0, note="a note " * 15
    ),
    "Preview of a prediction": lambda: sg.uses.PrivatePredictor.preview(
        batches=500, threshold=0.4, cutoff=20, epsilon=2, clip=5
    ),
    "Outcomes": lambda: sg.run_many("roth-2011", [0, 500], runs=3, threshold=100, epsilon=1, **SEEDED),
    "WorstCase": lambda: privacy.worst_case("standard", cutoff=1, epsilon=1),
    "Found": lambda: privacy.search("stoddard-2014", queries=2, epsilon=1, restarts=1),
    "Errors": lambda: paper.measure([90, 80, 30], np.array([[0, 1], [1, 2]]), count=2),
    "ExperimentResults": lambda: paper.run(datasets=["zipf"], counts=[5, 9], methods=["em"], runs=5),
    "ComparisonResults": lambda: paper.compare(
        datasets=["zipf"], counts=[10], epsilon=0.1, methods=["em", "subset"], peers=False, runs=20, most_runs=20
    ),
    "Description": lambda: Description(
        name="v", person="people by\x1b[31m v", columns={"a" * 60: "varchar"}, domains={"a" * 60: "5 listed"}
    ),
    "Statement": lambda: Statement(dataset="visits", entries=(ENTRY, SPENT)),
    "Release": lambda: Release(entry=SPENT, gave=(release().to_dict(),)),
    "Release of another kind": lambda: Release(entry=SPENT, gave=({"release": "laplace", "value": 3},) * 2),
    "TopAnswer": lambda: read_top(release().to_dict()),
    "ServedData": lambda: ServedData(dataset="v", unit="user", delay=0.1, schema=Schema((Column("page", Kind.TEXT),))),
    "RemotePreview": lambda: RemotePreview(
        **dict.fromkeys(("standard_error", "remaining", "remaining_rho")),
        **dict.fromkeys(("confidence", "margin", "margin_all"), 3.0),
        noise="laplace",
        cost=Fraction(1, 3),
        rho=Fraction(1, 8),
        warning="a warning " * 20,
        curve=((1.0, 2.0),) * 50,
        by_cutoff=(),
    ),
    "RemoteAnswer": lambda: RemoteAnswer(number=1, at=NOW, where="page = '/pay'", above=True, estimate=3, by=None),
    "RemoteQuota": lambda: RemoteQuota(most_above=3, above=1, most_epsilon=None, epsilon=Fraction(1, 3)),
    "RemoteToken": lambda: RemoteToken(name="olga", role="analyst", added_at=NOW),
}
LINES: dict[str, tuple[Any, str]] = {
    "Answer": (sg.Answer(True, 4021, 4.0824), "ABOVE, about 4,021, standard error 4.08"),
    "ABOVE": (sg.ABOVE, "ABOVE"),
    "BELOW": (sg.BELOW, "BELOW"),
    "AlertAnswer": (sg.uses.AlertAnswer(window=1200, fired=True, estimate=906), "window 1,200: fired, about 906"),
    "quiet": (sg.uses.AlertAnswer(window=1, fired=False), "window 1: quiet"),
    "Prediction": (sg.uses.Prediction(token=2, paid=True, checked=True), "token 2, paid"),
    "free": (sg.uses.Prediction(token=2, paid=False, checked=False), "token 2, free, not checked"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_prints_as_a_table_that_fits(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    result = RESULTS[name]()
    for width in (40, 80):
        monkeypatch.setenv("COLUMNS", str(width))
        shown, line = str(result), repr(result)
        assert len(shown.splitlines()) > 1
        assert max(map(cell_len, shown.splitlines())) <= width
        assert all(each.isprintable() for each in (line, *shown.splitlines()))
        assert not re.search(r"\b[A-Z]\w+\(\w+=|array\(|<object", shown)  # what a dataclass says of itself
        assert len(line) < 500


def test_an_answer_prints_as_a_line() -> None:
    assert {name: str(answer) for name, (answer, _) in LINES.items()} == {
        name: line for name, (_, line) in LINES.items()
    }


def results() -> Iterator[type[Printed]]:
    """Every class of results: of the modules that speak of one of their bases."""
    source = Path(sg.__file__).parent
    for file in source.rglob("*.py"):
        if re.search(r"^class .*(Printed|Tabular|Single|Table)\b", file.read_text(encoding="utf-8"), re.MULTILINE):
            importlib.import_module(".".join(["sparsegate", *file.relative_to(source).with_suffix("").parts]))
    found = [Printed]
    for kind in found:
        found += kind.__subclasses__()
        if dataclasses.is_dataclass(kind) and kind.__module__.startswith("sparsegate."):  # other tests make some, too
            yield kind


def test_every_class_of_results_and_every_public_dataclass_is_tried() -> None:
    """One that is new must say here what it prints."""
    tried = {name.partition(" ")[0] for name in (*RESULTS, *LINES)} | {"RemoteAsk"}  # as RemoteAnswer
    assert {kind.__name__ for kind in results()} - tried == set()
    rooms = (sg, sg.uses, sg.variants)
    public = {name: getattr(room, name) for room in rooms for name in room.__all__}
    settings = {"Budget", "RunCost", "Scale", "Scores", "Table", "TimeWindows", "Variant"}  # given, not returned
    returned = {name for name, kind in public.items() if isinstance(kind, type) and dataclasses.is_dataclass(kind)}
    assert returned - tried - settings == set()
