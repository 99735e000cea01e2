"""When a prediction is the label."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from sparsegate.errors import ParameterError
from sparsegate.uses.holdout_scoring import HiddenLabels


@pytest.mark.parametrize(
    ("label", "same", "other"),
    [
        ("cat", ["cat"], ["Cat", " cat", "dog", 1, None]),
        ("1", [1, 1.0, "1.0", True, np.int64(1), np.float32(1), Decimal("1.00")], ["01", 10, -1, "1e0", False]),
        (0, ["0", "-0", -0.0, False, "0.000"], ["", "00", None]),
        ("True", [True, "True", "true", np.bool_(True)], [False, "False", "yes"]),
        ("false", [False, "False", "false"], [True, "true", None]),
        ("007", ["007"], ["7", 7]),
        ("0.5", [0.5, "0.50", np.float64(0.5)], [".5", 5]),
        (1e300, [1e300], ["1", 1]),
        (None, [], [None, "", "None", math.nan]),
        (math.nan, [], [math.nan, "nan"]),
        ("", [], ["", None]),
        ("\ud800", ["\ud800"], ["?"]),
    ],
)
def test_texts_agree_as_they_are_and_numbers_by_their_value(label: Any, same: list[Any], other: list[Any]) -> None:
    labels = HiddenLabels([label])
    assert [bool(labels.agreement([guess])[0]) for guess in same] == [True] * len(same)
    assert [bool(labels.agreement([guess])[0]) for guess in other] == [False] * len(other)


def test_another_number_of_predictions_and_what_is_no_label_are_refused() -> None:
    labels = HiddenLabels(["a", "b"])
    with pytest.raises(ParameterError, match="^predictions must be one for each record, 2 in all, got 1"):
        labels.agreement(["a"])
    with pytest.raises(ParameterError, match="^predictions must be texts, numbers or truth values"):
        labels.agreement(["a", ["b"]])
    assert repr(labels) == "<HiddenLabels: 2>"
