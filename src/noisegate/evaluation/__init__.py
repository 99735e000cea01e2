"""The paper's evaluation: datasets, methods, a simulator on grouped scores, metrics, experiments.

NOT PRIVATE, on purpose: thresholds are oracles, computed from the true scores, and noise is floating point. For private
selection use ``noisegate.select_top``.
"""

from noisegate.evaluation.cells import Progress
from noisegate.evaluation.datasets import PUBLISHED, Dataset, load
from noisegate.evaluation.downloads import fetch
from noisegate.evaluation.experiments import run
from noisegate.evaluation.ladder import Ladder
from noisegate.evaluation.methods import DEFAULT_METHODS, METHODS, Method
from noisegate.evaluation.metrics import Errors, measure
from noisegate.evaluation.results import read
from noisegate.evaluation.simulation import simulate

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
