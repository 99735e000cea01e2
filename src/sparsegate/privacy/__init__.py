"""Exact analysis of every row: outcome probability, privacy loss, worst case; and a search that checks the bounds."""

from sparsegate.gates.bounds import tight_epsilon
from sparsegate.gates.planning import plan
from sparsegate.privacy.divergences import delta, renyi
from sparsegate.privacy.loss import Found, loss, search
from sparsegate.privacy.outcome import log_probability
from sparsegate.privacy.worst_case import WorstCase, worst_case

__all__ = [
    "Found",
    "WorstCase",
    "delta",
    "log_probability",
    "loss",
    "plan",
    "renyi",
    "search",
    "tight_epsilon",
    "worst_case",
]
