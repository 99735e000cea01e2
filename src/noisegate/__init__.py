"""The Sparse Vector Technique: ask which private answers are above a threshold, and pay only for those.

The public names are listed, with a line each, in docs/api.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from noisegate.budget import Budget
from noisegate.errors import (
    BudgetExceeded,
    GateClosed,
    LedgerError,
    NoisegateError,
    ParameterError,
    TableError,
)
from noisegate.mechanisms.batch import Outcomes, run_many
from noisegate.mechanisms.bounds import tight_epsilon
from noisegate.mechanisms.gate import ABOVE, BELOW, Answer
from noisegate.mechanisms.laplace import laplace
from noisegate.mechanisms.scores import Scores
from noisegate.mechanisms.selection import Selection, select_top
from noisegate.mechanisms.sparse_vector import SparseVector, run
from noisegate.mechanisms.variants import VARIANTS, Variant
from noisegate.noise import Secure, Seeded

if TYPE_CHECKING:
    from noisegate.auditor import Verdict, audit
    from noisegate.service.client.async_client import connect_async
    from noisegate.service.client.client import connect
    from noisegate.tables.online.answer import OnlineAnswer
    from noisegate.tables.online.history import OnlineAnswers
    from noisegate.tables.release import TopItems
    from noisegate.tables.top import top_items

__version__ = "0.1.0"

__all__ = [
    "ABOVE",
    "BELOW",
    "VARIANTS",
    "Answer",
    "Budget",
    "BudgetExceeded",
    "GateClosed",
    "LedgerError",
    "NoisegateError",
    "OnlineAnswer",
    "OnlineAnswers",
    "Outcomes",
    "ParameterError",
    "Scores",
    "Secure",
    "Seeded",
    "Selection",
    "SparseVector",
    "TableError",
    "TopItems",
    "Variant",
    "Verdict",
    "__version__",
    "audit",
    "connect",
    "connect_async",
    "laplace",
    "run",
    "run_many",
    "select_top",
    "tight_epsilon",
    "top_items",
]

# Rooms, and names in rooms, that a bare import would not load in a blink: each is loaded when it is first used.
_ROOMS = {"evaluation": "noisegate.evaluation", "privacy": "noisegate.privacy"}
_NAMES = {
    "OnlineAnswer": "noisegate.tables.online.answer",
    "OnlineAnswers": "noisegate.tables.online.history",
    "TopItems": "noisegate.tables.release",
    "Verdict": "noisegate.auditor",
    "audit": "noisegate.auditor",
    "connect": "noisegate.service.client.client",
    "connect_async": "noisegate.service.client.async_client",
    "top_items": "noisegate.tables.top",
}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(_ROOMS[name])
    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'noisegate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS, *_NAMES})
