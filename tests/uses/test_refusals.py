"""What is wrong with a public parameter of a use is one error that names it, before anything is drawn or charged."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from tests.support.accounts import Noted

import sparsegate as sg
from sparsegate.uses.holdout import HoldoutTerms
from sparsegate.uses.prediction import prediction_terms
from sparsegate.uses.run_cost import RunCost
from sparsegate.uses.structure import public_thresholds

NAN, START, ROWS = math.nan, 3_600_000_000, np.eye(4, dtype=int)
HOLDOUT = {"size": 1000, "threshold": 0.2, "cutoff": 2, "epsilon": 10}
PREDICTOR = {"vocabulary": 3, "threshold": 0.5, "cutoff": 2, "epsilon": 16}


def features(**options):
    public = {"k": 1, "epsilon": 1, "classes": [0, 1], "categories": 2}
    rows, y = options.pop("X", ROWS), options.pop("y", [0, 1, 0, 1])
    return sg.uses.SelectKBestPrivate(**public | options).fit(rows, y)


def itemsets(**options):
    domain = options.get("domain", list("abcde"))
    item = [1, 2] if isinstance(domain, int) else ["a", "b"]
    public = {"item": "product", "user": "customer", "count": 7, "epsilon": 20, "domain": domain}
    return sg.uses.frequent_itemsets({"product": item, "customer": [1, 1]}, **public | options)


def tree(**options):
    columns = {"a": [0, 1], "b": [0, 1], "c": [0, 1], "d": [0, 1]}
    return sg.uses.dependency_tree(ROWS, **{"columns": columns, "epsilon": 2, "unit": "row"} | options)


def predictor(private=(None,) * 8, public=lambda text: [0, 0, 3], **options):
    return sg.uses.PrivatePredictor(list(private) if isinstance(private, tuple) else private, public, **options)


NO_CATEGORIES = [[], 0, True, "ab", [NAN], [["a"]], [[], ["b"]], 3.5, [{}, 1], {"x": [0]}]
NO_BOUNDS = [3, (1, 1), (1, 0), (0, math.inf), (0, 1, 2), ("a", "b"), ([0], [1, 2, 3])]


def search(**options):
    models = DummyClassifier(strategy="constant", constant=0)
    return sg.uses.PrivateSearchCV(models, **options).fit(ROWS, [0, 1, 0, 1])


class KeepsNoGates:
    rule = "zcdp"

    def open_meter(self, **_): ...
    def spend(self, **_): ...
    def keep(self, *_): ...


Case = tuple[Callable[..., Any], dict[str, Any], dict[str, list[Any]], list[tuple[dict[str, Any], str]]]
CASES = {
    "alert": (
        sg.uses.Alert,
        {"threshold": 5_000, "cutoff": 2, "epsilon": 5},
        {"threshold": [1.5, True], "cutoff": [0], "epsilon": [0, NAN], "windows_per_user": [0], "most_windows": [1.5]}
        | {"method": ["best", "counts"], "closes": ["never"], "windows": ["5m"], "fires": ["sideways"], "refund": [1]}
        | {"name": ["", "a\nb", 3], "about": [""], "ledger": ["x"]},
        [({"method": "counts", "windows_per_user": 1, "closes": "rarer"}, "closes"), ({"state": "x"}, "state")],
    ),
    "alert that pays for each alarm": (
        sg.uses.Alert,
        {"threshold": 1000, "within": 90},
        {"epsilon": [1], "method": ["counts"], "closes": ["rarer"], "cells": [["Berlin"]], "within": [NAN]}
        | {"ledger": [None, KeepsNoGates()]},
        [
            ({"within": None}, "cutoff"),
            ({"cutoff": 2, "epsilon": 1}, "within"),
            ({"cutoff": 2, "epsilon": 1, "within": None, "expect": 3}, "expect"),
        ],
    ),
    "alert with cells": (
        sg.uses.Alert,
        {"threshold": 5_000, "cutoff": 2, "epsilon": 5, "cells": ["a", "b"]},
        {"method": ["counts"], "windows_per_user": [3], "cells_per_user": [0], "cells": [[1.5], ["a", "a"]]},
        [({"cells": None, "cells_per_user": 2}, "cells_per_user")],
    ),
    "cost of runs": (
        sg.uses.preview_tuning,
        {"each": RunCost.pure(1), "mean": 10},
        {"runs": [10, "binomial"], "mean": [1, Fraction(10**18 + 1, 10**18)], "eta": [1], "each": [0.5, None]},
        [({"runs": "negative-binomial"}, "eta"), ({"each": RunCost.zcdp(1)}, "delta")],
    ),
    "cost of a run": (RunCost.renyi, {}, {"curve": [{1: 0.1}, {}]}, []),
    "noise of a run": (
        partial(RunCost.within, "rho"),
        {"epsilon": 2, "mean": 10},
        {"delta": [0]},
        [({"delta": 0.1, "steps": 3}, "steps")],
    ),
    "search": (
        search,
        {"param_distributions": {"constant": [0, 1]}, "each": RunCost.pure(0.1), "validation": (ROWS, [0, 1, 0, 1])},
        {"validation": [None], "scoring": [len], "param_distributions": [{"depth": [1]}, {}], "runs": [10]}
        | {"each": [None]},
        [],
    ),
    "preview of itemsets": (
        sg.uses.preview_itemsets,
        {"count": 20, "size": 2, "domain": 1_000, "epsilon": 1},
        {"epsilon": [None, NAN, 0], "confidence": [1.5], "within": [-1], "people": [0], "count": [10**6]}
        | {"domain": [None]},
        [({"domain": "observed"}, "delta"), ({"domain": 3, "count": 7}, "count")],
    ),
    "windows": (
        sg.uses.TimeWindows,
        {"width": "1h", "start": START},
        {"width": [0, "5x", timedelta(0), NAN, True, Decimal("0.0000001")], "lateness": [-1], "start": ["soon", None]}
        | {"until": [START + 60]},
        [],
    ),
    "holdout": (
        sg.uses.Holdout,
        HOLDOUT,
        {"size": [0, 2**40, 10.0], "threshold": [0, 1, NAN], "cutoff": [0], "epsilon": [0, None, 1e-12], "low": [1]}
        | {"name": ["", "two\nlines"], "ledger": ["a path"]},
        [
            ({"epsilon": None, "budget": sg.Budget(threshold_epsilon=1, query_epsilon=1)}, "budget"),
            ({"low": -1e308, "high": 1e308}, "low"),
            ({"high": NAN}, "low"),
        ],
    ),
    "how far a holdout is off": (
        HoldoutTerms.of(**HOLDOUT).generalisation,
        {"questions": 100},
        {"confidence": [0, 1, NAN, "0.9", True], "questions": [0]},
        [],
    ),
    "scorer": (
        sg.uses.HoldoutScorer,
        {"holdout": sg.uses.Holdout(**HOLDOUT), "records": [], "labels": []},
        {"holdout": ["holdout"], "per_record": ["accuracy"]},
        [],
    ),
    "improvement": (
        sg.uses.improved,
        {"by": 0.2, "size": 1000, "epsilon": 1, "cutoff": 2},
        {"by": [0, NAN, "1", 1], "size": [2**41, 0, 2.5], "epsilon": [0], "cutoff": [0], "patience": [0], "low": [1]}
        | {"queries": [0], "closes": ["never"], "refund": [1]},
        [({"high": math.inf}, "low"), ({"high": 10**400}, "low")],
    ),
    "prediction": (
        predictor,
        PREDICTOR,
        {"private": [[], "model", [3]], "public": [[0, 0, 3]], "vocabulary": [0, 2**23], "threshold": [0, 1, NAN]}
        | {"cutoff": [0], "epsilon": [0, math.inf], "delta": [1], "clip": [0, 2**21], "temperature": [-1]}
        | {"gives": ["words"], "alone": [1], "refund": [1], "ledger": ["x"]},
        [],
    ),
    "prediction terms": (
        prediction_terms,
        {"batches": 8, "threshold": 0.5, "cutoff": 2, "epsilon": 16},
        {"batches": [0, 2.5, 2**21]},
        [],
    ),
    "features": (
        features,
        {},
        {"epsilon": [None, 0], "delta": [2], "k": ["all"], "method": ["sparse-vector", "best", []], "bins": [3]}
        | {"score_func": [3, "chi2"], "classes": [None], "categories": [None], "sensitivity": [2], "monotonic": [True]},
        [
            ({"categories": None, "bins": 3}, "bounds"),
            ({"score_func": len}, "sensitivity"),
            ({"score_func": "covariance"}, "bounds"),
            ({"score_func": "covariance", "bounds": (0, 1), "classes": None}, "target_bounds"),
            ({"score_func": "covariance", "bounds": (0, 1), "classes": [1, 2, 3]}, "classes"),
            ({"score_func": lambda *_: [1], "sensitivity": 1}, "score_func"),
            *(({"categories": value}, "categories") for value in NO_CATEGORIES),
            *(({"classes": value}, "classes") for value in (3, [], [NAN], [[1]], {0: "no", 1: "yes"})),
            *(({"categories": None, "bins": 3, "bounds": value}, "bounds") for value in NO_BOUNDS),
            *(({"X": value}, "X") for value in ([4711.0, 1.0], [[[4711.0]]], [[4711], [1, 2]], np.ones((3, 0)))),
            *(({"y": value}, "y") for value in (None, [4711.0], [[4711.0, 1], [1, 2]], 4711)),
        ],
    ),
    "itemsets": (
        itemsets,
        {},
        {"domain": [None, "products", []], "delta": [1e-6], "epsilon": [0, NAN], "answers_epsilon": [-1]}
        | {"selection": ["gumbel"], "user": [None, "product"], "where": ["price >"], "ledger": ["x"], "smallest": [4]}
        | {"count": [0, 1.5, 5001, 32], "size": [1, True], "method": ["apriori"], "pool": [0, 2]},
        [
            ({"domain": "observed"}, "delta"),
            ({"epsilon": Fraction(6, 10**300), "count": 1, "pool": 4, "selection": "one-shot"}, "epsilon"),
            ({"method": "whole", "domain": 1000}, "method"),
            ({"method": "whole", "pool": 5}, "pool"),
            ({"pool": 2000, "domain": 40_000}, "pool"),
        ],
    ),
    "tree": (
        tree,
        {},
        {
            "epsilon": [0, NAN],
            "edges_share": [1, "half"],
            "thresholds": [[0]],
            "other": [{"z": 1}, {"a": 2}, "other"],
            "ledger": ["x"],
        }
        | {
            "columns": [
                {"a": [0]},
                ["a"],
                {"a": [1, 1], "b": [0, 1]},
                {"a": [1, "x"], "b": [0, 1]},
                {"a": range(1001), "b": [0]},
            ]
        },
        [({"unit": None}, "user"), ({"epsilon": 1e-20}, "scale"), ({"epsilon": 1e9}, "scale")],
    ),
    "thresholds of a tree": (
        public_thresholds,
        {},
        {"thresholds": [[], 0, [100, -5], "many", [1.5], [2**60, 5], [NAN], None, [None], b"5", "5"]},
        [],
    ),
}
PAID = {"alert", "alert with cells", "search", "holdout", "improvement", "prediction", "features", "itemsets", "tree"}
"""What takes a ledger and a source."""


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_named_and_nothing_is_charged(case):
    make, right, wrong, together = CASES[case]
    account = Noted()
    paid = {"ledger": account} if case in PAID else {}
    seeded = [({"source": sg.Seeded(1)}, "not_private")] if case in PAID else []
    for options, parameter in [({name: value}, name) for name in wrong for value in wrong[name]] + together + seeded:
        with pytest.raises(sg.ParameterError) as refused:
            make(**right | paid | options)
        assert refused.value.parameter == parameter, options
        assert "4711" not in str(refused.value), "no cell is shown"
    assert account.charged == []
