"""The paper's evaluation: datasets, methods, a simulator on grouped scores, metrics, experiments.

NOT PRIVATE, on purpose: thresholds are oracles, computed from the true scores, and noise is floating point. For private
selection use ``sparsegate.select_top``.
"""

from sparsegate.evaluation.comparison.selection_race import compare
from sparsegate.evaluation.data.datasets import PUBLISHED, Dataset, load
from sparsegate.evaluation.data.downloads import fetch
from sparsegate.evaluation.data.readers import ItemCounts, read_counts
from sparsegate.evaluation.experiment.experiments import run
from sparsegate.evaluation.experiment.progress import Progress
from sparsegate.evaluation.experiment.results import read
from sparsegate.evaluation.methods import DEFAULT_METHODS, METHODS, Method
from sparsegate.evaluation.reporting.report import write_report
from sparsegate.evaluation.simulated.ranked import Errors, Ladder, measure
from sparsegate.evaluation.simulated.simulation import simulate
from sparsegate.evaluation.supplied_methods import SuppliedMethod

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
    "SuppliedMethod",
    "compare",
    "fetch",
    "load",
    "measure",
    "read",
    "read_counts",
    "run",
    "simulate",
    "write_report",
]
