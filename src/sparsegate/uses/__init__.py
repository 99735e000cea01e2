"""What people reach for the sparse vector technique for: each use is built from the public pieces of the rooms below.

Which of them fits is said in docs/how-to/uses.md.
"""

from typing import TYPE_CHECKING, Any

from sparsegate.tables.online import OnlineAnswer, OnlineAnswers
from sparsegate.uses.alerts import Alert, AlertAnswer
from sparsegate.uses.holdout import Holdout, HoldoutScore, HoldoutScorer
from sparsegate.uses.improvement import Improvement, improved
from sparsegate.uses.itemsets import FrequentItemsets, frequent_itemsets
from sparsegate.uses.itemsets_preview import preview_itemsets
from sparsegate.uses.prediction import Prediction, PrivatePredictor
from sparsegate.uses.structure import dependency_tree
from sparsegate.uses.tree_model import DependencyTree
from sparsegate.uses.windows import TimeWindows

if TYPE_CHECKING:
    from sparsegate.uses.features import SelectKBestPrivate

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
    "preview_itemsets",
]


def __getattr__(name: str) -> Any:
    if name != "SelectKBestPrivate":  # it needs scikit-learn, and is loaded when it is first used
        raise AttributeError(f"module 'sparsegate.uses' has no attribute {name!r}")
    from sparsegate.uses.features import SelectKBestPrivate

    return SelectKBestPrivate
