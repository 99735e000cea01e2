"""The paper's evaluation: datasets, methods, a simulator on grouped scores, metrics, experiments.

NOT PRIVATE, on purpose: thresholds are oracles, computed from the true scores, and noise is floating point. For private
selection use ``sparsegate.select_top``.
"""

from sparsegate.paper.comparison import compare
from sparsegate.paper.data import PUBLISHED, Dataset, ItemCounts, fetch, load, read_counts
from sparsegate.paper.experiments import run
from sparsegate.paper.methods import DEFAULT_METHODS, METHODS, Method, SuppliedMethod
from sparsegate.paper.ranked import Errors, Ladder, measure
from sparsegate.paper.report import Reproduction, reproduce, write_report
from sparsegate.paper.results import read
from sparsegate.paper.simulation import simulate
from sparsegate.paper.workers import Progress

__all__ = [
    "DEFAULT_METHODS",
    "METHODS",
    "PUBLISHED",
    "Dataset",
    "Errors",
    "ItemCounts",
    "Ladder",
    "Method",
    "Progress",
    "Reproduction",
    "SuppliedMethod",
    "compare",
    "fetch",
    "load",
    "measure",
    "read",
    "read_counts",
    "reproduce",
    "run",
    "simulate",
    "write_report",
]
