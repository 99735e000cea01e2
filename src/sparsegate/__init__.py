"""The Sparse Vector Technique: ask which private answers are above a threshold, and pay only for those.

The public names are listed, with a line each, in docs/reference/api.md.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sparsegate.auditor import Verdict, audit
    from sparsegate.budget import Budget
    from sparsegate.errors import (
        BudgetExceeded,
        ConditionError,
        GateClosed,
        LedgerError,
        ParameterError,
        ServiceError,
        SparsegateError,
        SparsegateWarning,
        TableError,
    )
    from sparsegate.ledger.ledger import Ledger
    from sparsegate.mechanisms.answer import ABOVE, BELOW, Answer
    from sparsegate.mechanisms.batch import Outcomes, run_many
    from sparsegate.mechanisms.bounds import tight_epsilon
    from sparsegate.mechanisms.gate_preview import GatePreview
    from sparsegate.mechanisms.laplace import laplace
    from sparsegate.mechanisms.running import gate, run
    from sparsegate.mechanisms.scores import Scores
    from sparsegate.mechanisms.selected import Selection
    from sparsegate.mechanisms.selection import select_top
    from sparsegate.mechanisms.sparse_vector import SparseVector
    from sparsegate.mechanisms.variants import VARIANTS, Closes, Compared, Noise, Released, Scale, Variant
    from sparsegate.noise import Secure, Seeded
    from sparsegate.service.client.async_client import connect_async
    from sparsegate.service.client.client import connect
    from sparsegate.tables.grouped_release import GroupedTopItems
    from sparsegate.tables.online.online_answer import OnlineAnswer
    from sparsegate.tables.online.online_answers import OnlineAnswers
    from sparsegate.tables.preview import preview
    from sparsegate.tables.previewed_methods import TopPreview
    from sparsegate.tables.release import TopItems
    from sparsegate.tables.top import top_items
    from sparsegate.uses.alerts.alert_plan import AlertPlan
    from sparsegate.uses.alerts.alert_record import AlertAnswer
    from sparsegate.uses.alerts.alerts import Alert
    from sparsegate.uses.alerts.windows import TimeWindows
    from sparsegate.uses.features.features import SelectKBestPrivate
    from sparsegate.uses.holdout.holdout import Holdout
    from sparsegate.uses.holdout.holdout_score import HoldoutScore
    from sparsegate.uses.holdout.holdout_scorer import HoldoutScorer
    from sparsegate.uses.improvement import Improvement, improved
    from sparsegate.uses.itemsets.frequent_itemsets import frequent_itemsets
    from sparsegate.uses.itemsets.released_itemsets import FrequentItemsets
    from sparsegate.uses.prediction.prediction import PrivatePredictor
    from sparsegate.uses.prediction.prediction_terms import PredictionTerms
    from sparsegate.uses.prediction.prediction_tokens import Prediction
    from sparsegate.uses.structure.dependency_tree import dependency_tree
    from sparsegate.uses.structure.tree_model import DependencyTree

__version__ = "0.1.0"
"""The version of this library.

>>> import sparsegate as sg
>>> len(sg.__version__.split("."))
3
"""

__all__ = [
    "ABOVE",
    "BELOW",
    "VARIANTS",
    "Alert",
    "AlertAnswer",
    "AlertPlan",
    "Answer",
    "Budget",
    "BudgetExceeded",
    "Closes",
    "Compared",
    "ConditionError",
    "DependencyTree",
    "FrequentItemsets",
    "GateClosed",
    "GatePreview",
    "GroupedTopItems",
    "Holdout",
    "HoldoutScore",
    "HoldoutScorer",
    "Improvement",
    "Ledger",
    "LedgerError",
    "Noise",
    "OnlineAnswer",
    "OnlineAnswers",
    "Outcomes",
    "ParameterError",
    "Prediction",
    "PredictionTerms",
    "PrivatePredictor",
    "Released",
    "Scale",
    "Scores",
    "Secure",
    "Seeded",
    "SelectKBestPrivate",
    "Selection",
    "ServiceError",
    "SparseVector",
    "SparsegateError",
    "SparsegateWarning",
    "TableError",
    "TimeWindows",
    "TopItems",
    "TopPreview",
    "Variant",
    "Verdict",
    "__version__",
    "audit",
    "connect",
    "connect_async",
    "dependency_tree",
    "frequent_itemsets",
    "gate",
    "improved",
    "laplace",
    "preview",
    "run",
    "run_many",
    "select_top",
    "tight_epsilon",
    "top_items",
]

# Each is loaded when it is first used: an import of this package loads nothing, so that it takes a blink, and Ctrl-C is
# heard before the command line loads anything that takes longer.
_ROOMS = {
    "budget": "sparsegate.budget",
    "errors": "sparsegate.errors",
    "evaluation": "sparsegate.evaluation",
    "mechanisms": "sparsegate.mechanisms",
    "noise": "sparsegate.noise",
    "privacy": "sparsegate.privacy",
}
_NAMES = {
    "ABOVE": "sparsegate.mechanisms.answer",
    "Alert": "sparsegate.uses.alerts.alerts",
    "AlertAnswer": "sparsegate.uses.alerts.alert_record",
    "AlertPlan": "sparsegate.uses.alerts.alert_plan",
    "Answer": "sparsegate.mechanisms.answer",
    "BELOW": "sparsegate.mechanisms.answer",
    "Budget": "sparsegate.budget",
    "BudgetExceeded": "sparsegate.errors",
    "Closes": "sparsegate.mechanisms.variants",
    "Compared": "sparsegate.mechanisms.variants",
    "ConditionError": "sparsegate.errors",
    "DependencyTree": "sparsegate.uses.structure.tree_model",
    "FrequentItemsets": "sparsegate.uses.itemsets.released_itemsets",
    "GateClosed": "sparsegate.errors",
    "GatePreview": "sparsegate.mechanisms.gate_preview",
    "GroupedTopItems": "sparsegate.tables.grouped_release",
    "Holdout": "sparsegate.uses.holdout.holdout",
    "HoldoutScore": "sparsegate.uses.holdout.holdout_score",
    "HoldoutScorer": "sparsegate.uses.holdout.holdout_scorer",
    "Improvement": "sparsegate.uses.improvement",
    "Ledger": "sparsegate.ledger.ledger",
    "LedgerError": "sparsegate.errors",
    "Noise": "sparsegate.mechanisms.variants",
    "OnlineAnswer": "sparsegate.tables.online.online_answer",
    "OnlineAnswers": "sparsegate.tables.online.online_answers",
    "Outcomes": "sparsegate.mechanisms.batch",
    "ParameterError": "sparsegate.errors",
    "Prediction": "sparsegate.uses.prediction.prediction_tokens",
    "PredictionTerms": "sparsegate.uses.prediction.prediction_terms",
    "PrivatePredictor": "sparsegate.uses.prediction.prediction",
    "Released": "sparsegate.mechanisms.variants",
    "Scale": "sparsegate.mechanisms.variants",
    "Scores": "sparsegate.mechanisms.scores",
    "Secure": "sparsegate.noise",
    "Seeded": "sparsegate.noise",
    "SelectKBestPrivate": "sparsegate.uses.features.features",
    "Selection": "sparsegate.mechanisms.selected",
    "ServiceError": "sparsegate.errors",
    "SparseVector": "sparsegate.mechanisms.sparse_vector",
    "SparsegateError": "sparsegate.errors",
    "SparsegateWarning": "sparsegate.errors",
    "TableError": "sparsegate.errors",
    "TimeWindows": "sparsegate.uses.alerts.windows",
    "TopItems": "sparsegate.tables.release",
    "TopPreview": "sparsegate.tables.previewed_methods",
    "VARIANTS": "sparsegate.mechanisms.variants",
    "Variant": "sparsegate.mechanisms.variants",
    "Verdict": "sparsegate.auditor",
    "audit": "sparsegate.auditor",
    "connect": "sparsegate.service.client.client",
    "connect_async": "sparsegate.service.client.async_client",
    "dependency_tree": "sparsegate.uses.structure.dependency_tree",
    "frequent_itemsets": "sparsegate.uses.itemsets.frequent_itemsets",
    "gate": "sparsegate.mechanisms.running",
    "improved": "sparsegate.uses.improvement",
    "laplace": "sparsegate.mechanisms.laplace",
    "preview": "sparsegate.tables.preview",
    "run": "sparsegate.mechanisms.running",
    "run_many": "sparsegate.mechanisms.batch",
    "select_top": "sparsegate.mechanisms.selection",
    "tight_epsilon": "sparsegate.mechanisms.bounds",
    "top_items": "sparsegate.tables.top",
}


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name in _ROOMS:
        return import_module(_ROOMS[name])
    if name in _NAMES:
        found = globals()[name] = getattr(import_module(_NAMES[name]), name)
        return found
    raise AttributeError(f"module 'sparsegate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS, *_NAMES})
