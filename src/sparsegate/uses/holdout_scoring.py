"""A scikit-learn scorer that looks at a reusable holdout: for ``GridSearchCV`` and for loops of your own."""

from __future__ import annotations

import hashlib
import math
import re
import secrets
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sparsegate.errors import ParameterError
from sparsegate.noise.own_settings import own_settings
from sparsegate.noise.sources import Uncopied
from sparsegate.uses.holdout import Holdout, HoldoutScore, check_holdout

PerRecord = Callable[[Any, Any, Any], Any]
"""(estimator, records, labels) -> a value for each record, from that record and the estimator alone."""


def right(estimator: Any, records: Any, labels: Any) -> Any:
    """1 where the prediction is the label, else 0: the mean is the accuracy."""
    predicted, true = np.asarray(estimator.predict(records)), np.asarray(labels)
    if predicted.shape != true.shape:  # numpy would compare each with each; and lengths are not told
        rule = "must be one label for each record, in the shape of the predictions"
        raise ParameterError("labels", rule, next_step="pass a flat array of them")
    return predicted == true


class HoldoutScorer(Uncopied):
    """``scorer(estimator, X, y)``: the score of a fitted estimator, by records that are public and by a holdout.

    X and y are what scikit-learn hands to a scorer, records that the theorem does not protect: the training set itself,
    or a fold of it. Their mean is the *training score* of ``Holdout.score``; the holdout that this object holds is
    asked whether it agrees. So a search needs no change but ``scoring=``:

    - ``cv=scorer.training_only(X)``: one split whose test part is the training set; one question for each candidate;
    - ``cv=5``: a fold says how good a candidate is, and the holdout is asked about each of the five models. Folds are
      more honest than the training set, so fewer questions are paid for.

    **Theorem.** That of ``Holdout``, if (1) no estimator was fitted on the holdout, nor on anything computed from it
    but for these scores, and (2) ``per_record`` gives each record its value from that record and the estimator alone,
    and gives one to every record: an error because of one of them (a model that takes no NaN) tells of it. What looks
    at several records at once (an AUC, a rank, a batch that is normalised) is no mean, and has no such theorem.

    A search must run in this process: ``n_jobs=None`` or 1, or threads (``joblib.parallel_config("threading")``).
    Processes copy their scorer, and a holdout can be neither copied nor pickled; nor can a search that holds it, so
    keep ``search.best_estimator_``. Where the holdout is used up a search goes on with NaN and a warning unless it has
    ``error_score="raise"``.

    Parameters
    ----------
    holdout: a ``Holdout``; its range must be that of ``per_record``.
    records, labels: those of the holdout (X and y elsewhere), private.
    per_record: ``right`` unless given, for the accuracy of a classifier.

    >>> import numpy as np, sparsegate as sg
    >>> from sklearn.dummy import DummyClassifier
    >>> X, y = np.zeros((3000, 1)), np.arange(3000) % 4 == 0
    >>> holdout = sg.uses.Holdout(size=2000, threshold=0.1, cutoff=5, epsilon=5)
    >>> scorer = sg.uses.HoldoutScorer(holdout, X[1000:], y[1000:])
    >>> scorer(DummyClassifier().fit(X[:1000], y[:1000]), X[:1000], y[:1000])
    0.75
    >>> scorer.last.paid
    False
    """

    _uncopied = (
        "a HoldoutScorer can be neither copied nor pickled, because its holdout cannot: search in this process "
        "(n_jobs=1, or threads), and keep best_estimator_ instead of the search"
    )

    def __init__(self, holdout: Holdout, records: Any, labels: Any, *, per_record: PerRecord = right) -> None:
        if not callable(per_record):
            raise ParameterError("per_record", "must be callable: (estimator, records, labels) -> values", per_record)
        self._holdout, self._records, self._labels = check_holdout(holdout), records, labels
        self._per_record = per_record
        self._last: HoldoutScore | None = None

    @own_settings
    def __call__(self, estimator: Any, records: Any, labels: Any = None) -> float:
        """The score; ``score`` also says whether it was paid for."""
        return self.score(estimator, records, labels).value

    @own_settings
    def score(self, estimator: Any, records: Any, labels: Any = None) -> HoldoutScore:
        """The same with its margin, and what is left."""
        if self._holdout.closed:  # says so before anybody predicts
            self._holdout.score(self._holdout.terms.low, [])
        train = self._per_record(estimator, records, labels)
        score = self._holdout.score(train, self._per_record(estimator, self._records, self._labels))
        self._last = score
        return score

    @property
    def last(self) -> HoldoutScore | None:
        """The score that was given last."""
        return self._last

    @property
    def holdout(self) -> Holdout:
        """The holdout that is asked."""
        return self._holdout

    def training_only(self, records: Any) -> list[tuple[Any, Any]]:
        """A ``cv`` of one split that fits on all of these records and scores on them; the holdout does the rest."""
        every = np.arange(records.shape[0] if hasattr(records, "shape") else len(records))
        return [(every, every)]

    def __repr__(self) -> str:
        return f"HoldoutScorer({self._holdout!r})"


_NUMBER: Final = re.compile(r"-?(0|[1-9]\d{0,30})(\.\d{1,30})?", re.ASCII)  # 007 is a name, and not a number
_TRUTHS: Final = {word: str(int(truth)) for truth in (True, False) for word in (str(truth), str(truth).lower())}


@own_settings
def agreement(labels: Iterable[Any], predictions: Iterable[Any]) -> NDArray[np.bool_]:
    """For each record whether its prediction is its label; there must be as many of the one as of the other.

    They are the same if they are the same text; numbers are the same however they are written: 1, 1.0 and "1" are
    alike, and so are a truth value, "true" and "True", as 1. What is missing agrees with nothing. Each text becomes a
    number of 56 bits under a key of this call alone, so that the comparison takes the same steps whatever they are.

    >>> agreement(["cat", "dog", "1.0", None], ["cat", "cat", 1, None]).tolist()
    [True, False, True, False]
    """
    key = secrets.token_bytes(32)

    def coded(values: Iterable[Any], parameter: str, missing: int) -> NDArray[np.int64]:
        known: dict[str, int] = {}  # of these values alone: nothing tells whether there is such a label

        def code(text: str | None) -> int:
            if text is None:
                return missing
            if text not in known:
                digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7, key=key).digest()
                known[text] = int.from_bytes(digest, "big")
            return known[text]

        return np.fromiter((code(_text(value, parameter)) for value in values), dtype=np.int64)

    private, predicted = coded(labels, "labels", -1), coded(predictions, "predictions", -2)
    if predicted.size != private.size:
        rule = f"must be one for each record, {private.size} in all"
        raise ParameterError("predictions", rule, predicted.size, "send them in the order of the records")
    return np.asarray(predicted == private)


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
