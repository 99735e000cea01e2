"""What people reach for the sparse vector technique for: each use is built from the public pieces of the rooms below.

Which of them fits is said in docs/how-to/uses.md.
"""

from typing import TYPE_CHECKING, Any

from sparsegate.tables.online import OnlineAnswer, OnlineAnswers
from sparsegate.uses.alerts import Alert, AlertAnswer
from sparsegate.uses.holdout import Holdout, HoldoutScore
from sparsegate.uses.improvement import Improvement, improved
from sparsegate.uses.itemsets import FrequentItemsets, frequent_itemsets
from sparsegate.uses.prediction import Prediction, PrivatePredictor
from sparsegate.uses.structure import dependency_tree
from sparsegate.uses.tree_model import DependencyTree
from sparsegate.uses.windows import TimeWindows

if TYPE_CHECKING:
    from sparsegate.uses.features import SelectKBestPrivate
    from sparsegate.uses.holdout_scoring import HoldoutScorer

__all__ = [
    "Alert",
    "AlertAnswer",
    "DependencyTree",
    "FrequentItemsets",
    "Holdout",
    "HoldoutScore",
    "HoldoutScorer",
    "Improvement",
    "OnlineAnswer",
    "OnlineAnswers",
    "Prediction",
    "PrivatePredictor",
    "SelectKBestPrivate",
    "TimeWindows",
    "dependency_tree",
    "frequent_itemsets",
    "improved",
]

# What needs scikit-learn is loaded when it is first used.
_LEARNERS = {"HoldoutScorer": "sparsegate.uses.holdout_scoring", "SelectKBestPrivate": "sparsegate.uses.features"}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _LEARNERS:
        raise AttributeError(f"module 'sparsegate.uses' has no attribute {name!r}")
    return getattr(import_module(_LEARNERS[name]), name)
