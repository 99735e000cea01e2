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
    from sparsegate.gates.bounds import tight_epsilon
    from sparsegate.gates.gate import ABOVE, BELOW, Answer
    from sparsegate.gates.laplace import laplace
    from sparsegate.gates.preview import GatePreview
    from sparsegate.gates.research import Outcomes, gate, run, run_many
    from sparsegate.gates.sparse_vector import SparseVector
    from sparsegate.gates.variants import VARIANTS, Closes, Compared, Noise, Released, Scale, Variant
    from sparsegate.ledger.ledger import Ledger
    from sparsegate.noise import Secure, Seeded
    from sparsegate.selection.scores import Scores
    from sparsegate.selection.select import Selection, select_top
    from sparsegate.service.client.async_client import connect_async
    from sparsegate.service.client.client import connect
    from sparsegate.tables.online import OnlineAnswer, OnlineAnswers
    from sparsegate.tables.preview import TopPreview, preview
    from sparsegate.tables.release import GroupedTopItems, TopItems
    from sparsegate.tables.top import top_items
    from sparsegate.uses.alerts import Alert, AlertAnswer, AlertPlan
    from sparsegate.uses.dependency_tree import dependency_tree
    from sparsegate.uses.features import SelectKBestPrivate
    from sparsegate.uses.holdout import Holdout, HoldoutScore
    from sparsegate.uses.holdout_scoring import HoldoutScorer
    from sparsegate.uses.improvement import Improvement, improved
    from sparsegate.uses.itemsets import FrequentItemsets, frequent_itemsets
    from sparsegate.uses.prediction import Prediction, PredictionTerms, PrivatePredictor
    from sparsegate.uses.tree_model import DependencyTree
    from sparsegate.uses.windows import TimeWindows

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
    "noise": "sparsegate.noise",
    "paper": "sparsegate.paper",
    "privacy": "sparsegate.privacy",
}
_NAMES = {
    "ABOVE": "sparsegate.gates.gate",
    "Alert": "sparsegate.uses.alerts",
    "AlertAnswer": "sparsegate.uses.alerts",
    "AlertPlan": "sparsegate.uses.alerts",
    "Answer": "sparsegate.gates.gate",
    "BELOW": "sparsegate.gates.gate",
    "Budget": "sparsegate.budget",
    "BudgetExceeded": "sparsegate.errors",
    "Closes": "sparsegate.gates.variants",
    "Compared": "sparsegate.gates.variants",
    "ConditionError": "sparsegate.errors",
    "DependencyTree": "sparsegate.uses.tree_model",
    "FrequentItemsets": "sparsegate.uses.itemsets",
    "GateClosed": "sparsegate.errors",
    "GatePreview": "sparsegate.gates.preview",
    "GroupedTopItems": "sparsegate.tables.release",
    "Holdout": "sparsegate.uses.holdout",
    "HoldoutScore": "sparsegate.uses.holdout",
    "HoldoutScorer": "sparsegate.uses.holdout_scoring",
    "Improvement": "sparsegate.uses.improvement",
    "Ledger": "sparsegate.ledger.ledger",
    "LedgerError": "sparsegate.errors",
    "Noise": "sparsegate.gates.variants",
    "OnlineAnswer": "sparsegate.tables.online",
    "OnlineAnswers": "sparsegate.tables.online",
    "Outcomes": "sparsegate.gates.research",
    "ParameterError": "sparsegate.errors",
    "Prediction": "sparsegate.uses.prediction",
    "PredictionTerms": "sparsegate.uses.prediction",
    "PrivatePredictor": "sparsegate.uses.prediction",
    "Released": "sparsegate.gates.variants",
    "Scale": "sparsegate.gates.variants",
    "Scores": "sparsegate.selection.scores",
    "Secure": "sparsegate.noise",
    "Seeded": "sparsegate.noise",
    "SelectKBestPrivate": "sparsegate.uses.features",
    "Selection": "sparsegate.selection.select",
    "ServiceError": "sparsegate.errors",
    "SparseVector": "sparsegate.gates.sparse_vector",
    "SparsegateError": "sparsegate.errors",
    "SparsegateWarning": "sparsegate.errors",
    "TableError": "sparsegate.errors",
    "TimeWindows": "sparsegate.uses.windows",
    "TopItems": "sparsegate.tables.release",
    "TopPreview": "sparsegate.tables.preview",
    "VARIANTS": "sparsegate.gates.variants",
    "Variant": "sparsegate.gates.variants",
    "Verdict": "sparsegate.auditor",
    "audit": "sparsegate.auditor",
    "connect": "sparsegate.service.client.client",
    "connect_async": "sparsegate.service.client.async_client",
    "dependency_tree": "sparsegate.uses.dependency_tree",
    "frequent_itemsets": "sparsegate.uses.itemsets",
    "gate": "sparsegate.gates.research",
    "improved": "sparsegate.uses.improvement",
    "laplace": "sparsegate.gates.laplace",
    "preview": "sparsegate.tables.preview",
    "run": "sparsegate.gates.research",
    "run_many": "sparsegate.gates.research",
    "select_top": "sparsegate.selection.select",
    "tight_epsilon": "sparsegate.gates.bounds",
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
