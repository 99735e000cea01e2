"""Labels that nobody sees, and predictions that are held against them.

A prediction and a label are the same if they are the same text; numbers are the same however they are written: 1, 1.0
and "1" are alike, and so are a truth value, "true" and "True", as 1. What is missing agrees with nothing. Each text
becomes a number of 56 bits under a key of this object alone, so that the comparison takes the same steps whatever the
labels are.
"""

from __future__ import annotations

import hashlib
import math
import re
import secrets
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sparsegate.errors import ParameterError
from sparsegate.noise.own_settings import own_settings

_NUMBER: Final = re.compile(r"-?(0|[1-9]\d{0,30})(\.\d{1,30})?", re.ASCII)  # 007 is a name, and not a number
_TRUTHS: Final = {word: str(int(truth)) for truth in (True, False) for word in (str(truth), str(truth).lower())}
_NO_LABEL, _NO_PREDICTION = -1, -2


class HiddenLabels:
    """The labels of a holdout, in its order.

    >>> labels = HiddenLabels(["cat", "dog", "1.0", None])
    >>> labels.agreement(["cat", "cat", 1, None]).tolist()
    [True, False, True, False]
    """

    @own_settings
    def __init__(self, labels: Iterable[Any]) -> None:
        self._key = secrets.token_bytes(32)
        self._codes = self._coded(labels, "labels", _NO_LABEL)

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self._codes.size)

    @own_settings
    def agreement(self, predictions: Iterable[Any]) -> NDArray[np.bool_]:
        """For each record whether the prediction is its label; there must be as many as labels."""
        codes = self._coded(predictions, "predictions", _NO_PREDICTION)
        if codes.size != self.size:
            rule = f"must be one for each record, {self.size} in all"
            raise ParameterError("predictions", rule, codes.size, "send them in the order of the records")
        return np.asarray(codes == self._codes)

    def _coded(self, values: Iterable[Any], parameter: str, missing: int) -> NDArray[np.int64]:
        texts = (_text(value, parameter) for value in values)
        known: dict[str, int] = {}  # of these values alone: nothing tells whether there is such a label
        return np.fromiter((missing if text is None else self._code(text, known) for text in texts), dtype=np.int64)

    def _code(self, text: str, known: dict[str, int]) -> int:
        code = known.get(text)
        if code is None:
            digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7, key=self._key).digest()
            code = known[text] = int.from_bytes(digest, "big")
        return code

    def __repr__(self) -> str:
        return f"<HiddenLabels: {self.size}>"


def _text(value: Any, parameter: str) -> str | None:
    """A label as text; None where there is none."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, str):
        return _plain(value) if _NUMBER.fullmatch(value) else _TRUTHS.get(value, value) or None
    if isinstance(value, int | float | Decimal):
        return _plain(str(value)) if _NUMBER.fullmatch(str(value)) else str(value)
    raise ParameterError(parameter, "must be texts, numbers or truth values", next_step="send one for each record")


def _plain(number: str) -> str:
    """Without the zeros that a fraction ends in."""
    shown = number.rstrip("0").rstrip(".") if "." in number else number
    return "0" if shown == "-0" else shown
