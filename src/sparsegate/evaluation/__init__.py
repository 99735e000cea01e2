"""The paper's evaluation: datasets, methods, a simulator on grouped scores, metrics, experiments.

NOT PRIVATE, on purpose: thresholds are oracles, computed from the true scores, and noise is floating point. For private
selection use ``sparsegate.select_top``.
"""

from sparsegate.evaluation.datasets import PUBLISHED, Dataset, fetch, load
from sparsegate.evaluation.experiments import run
from sparsegate.evaluation.methods import DEFAULT_METHODS, METHODS, Method
from sparsegate.evaluation.ranked import Errors, Ladder, measure
from sparsegate.evaluation.results import read
from sparsegate.evaluation.simulation import simulate
from sparsegate.evaluation.workers import Progress

__all__ = [
    "DEFAULT_METHODS",
    "METHODS",
    "PUBLISHED",
    "Dataset",
    "Errors",
    "Ladder",
    "Method",
    "Progress",
    "fetch",
    "load",
    "measure",
    "read",
    "run",
    "simulate",
]
