"""The Sparse Vector Technique: ask which private answers are above a threshold, and pay only for those.

The public names are listed, with a line each, in docs/reference/api.md.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sparsegate import paper as paper
    from sparsegate import privacy as privacy
    from sparsegate import uses as uses
    from sparsegate import variants as variants
    from sparsegate.auditor import Verdict, audit
    from sparsegate.budget import Budget
    from sparsegate.errors import BudgetExceeded, GateClosed, LedgerError, ParameterError, SparsegateError, TableError
    from sparsegate.gates.cells import Gates
    from sparsegate.gates.gate import ABOVE, BELOW, Answer
    from sparsegate.gates.gaussian import gaussian
    from sparsegate.gates.laplace import laplace
    from sparsegate.gates.research import run, run_many
    from sparsegate.gates.sparse_vector import SparseVector
    from sparsegate.gates.variants import VARIANTS
    from sparsegate.ledger.ledger import Ledger
    from sparsegate.noise import Secure, Seeded
    from sparsegate.selection.select import Selection, select_top
    from sparsegate.service.client import connect
    from sparsegate.tables.opening import Table
    from sparsegate.tables.preview import preview
    from sparsegate.tables.session import session
    from sparsegate.tables.top import items_above, top_items, top_sums

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
    "Answer",
    "Budget",
    "BudgetExceeded",
    "GateClosed",
    "Gates",
    "Ledger",
    "LedgerError",
    "ParameterError",
    "Secure",
    "Seeded",
    "Selection",
    "SparseVector",
    "SparsegateError",
    "Table",
    "TableError",
    "Verdict",
    "__version__",
    "audit",
    "connect",
    "gaussian",
    "items_above",
    "laplace",
    "preview",
    "run",
    "run_many",
    "select_top",
    "session",
    "top_items",
    "top_sums",
]

# Each is loaded when it is first used: an import of this package loads nothing, so that it takes a blink, and Ctrl-C is
# heard before the command line loads anything that takes longer.
_ROOMS = ("budget", "errors", "noise", "paper", "privacy", "uses", "variants")
_NAMES = {
    "ABOVE": "sparsegate.gates.gate",
    "Answer": "sparsegate.gates.gate",
    "BELOW": "sparsegate.gates.gate",
    "Budget": "sparsegate.budget",
    "BudgetExceeded": "sparsegate.errors",
    "GateClosed": "sparsegate.errors",
    "Gates": "sparsegate.gates.cells",
    "Ledger": "sparsegate.ledger.ledger",
    "LedgerError": "sparsegate.errors",
    "ParameterError": "sparsegate.errors",
    "Secure": "sparsegate.noise",
    "Seeded": "sparsegate.noise",
    "Selection": "sparsegate.selection.select",
    "SparseVector": "sparsegate.gates.sparse_vector",
    "SparsegateError": "sparsegate.errors",
    "Table": "sparsegate.tables.opening",
    "TableError": "sparsegate.errors",
    "VARIANTS": "sparsegate.gates.variants",
    "Verdict": "sparsegate.auditor",
    "audit": "sparsegate.auditor",
    "connect": "sparsegate.service.client",
    "gaussian": "sparsegate.gates.gaussian",
    "items_above": "sparsegate.tables.top",
    "laplace": "sparsegate.gates.laplace",
    "preview": "sparsegate.tables.preview",
    "run": "sparsegate.gates.research",
    "run_many": "sparsegate.gates.research",
    "select_top": "sparsegate.selection.select",
    "session": "sparsegate.tables.session",
    "top_items": "sparsegate.tables.top",
    "top_sums": "sparsegate.tables.top",
}


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name in _ROOMS:
        return import_module(f"sparsegate.{name}")
    if name in _NAMES:
        value = globals()[name] = getattr(import_module(_NAMES[name]), name)
        return value
    raise AttributeError(f"module 'sparsegate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS, *_NAMES})
