"""What people reach for the sparse vector technique for: each use is built from the public pieces of the rooms below.

Which of them fits is said in docs/how-to/uses.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sparsegate.tables.online import OnlineAnswer, OnlineAnswers
from sparsegate.uses.alerts import Alert, AlertAnswer
from sparsegate.uses.holdout import Holdout, HoldoutScore, HoldoutScorer
from sparsegate.uses.improvement import Improvement, improved
from sparsegate.uses.itemsets import FrequentItemsets, frequent_itemsets
from sparsegate.uses.itemsets_preview import preview_itemsets
from sparsegate.uses.prediction import Prediction, PrivatePredictor
from sparsegate.uses.structure import dependency_tree, preview_tree
from sparsegate.uses.tree_model import DependencyTree
from sparsegate.uses.windows import TimeWindows

if TYPE_CHECKING:
    from sparsegate.uses.features import SelectKBestPrivate
    from sparsegate.uses.run_cost import RunCost
    from sparsegate.uses.search import PrivateSearchCV
    from sparsegate.uses.tuning import OptunaSpace, Tuned, preview_tuning, tune

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
    "OptunaSpace",
    "Prediction",
    "PrivatePredictor",
    "PrivateSearchCV",
    "RunCost",
    "SelectKBestPrivate",
    "TimeWindows",
    "Tuned",
    "dependency_tree",
    "frequent_itemsets",
    "improved",
    "preview_itemsets",
    "preview_tree",
    "preview_tuning",
    "tune",
]


_LATER = {  # what needs scikit-learn, or is seldom used, is loaded when it is first used
    "SelectKBestPrivate": "features",
    "RunCost": "run_cost",
    "PrivateSearchCV": "search",
    **dict.fromkeys(("OptunaSpace", "Tuned", "preview_tuning", "tune"), "tuning"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'sparsegate.uses' has no attribute {name!r}")
    return getattr(import_module(f"sparsegate.uses.{_LATER[name]}"), name)
