"""Exact analysis of every row: outcome probability, privacy loss, worst case; and a search that checks the bounds."""

from sparsegate.mechanisms.bounds import tight_epsilon
from sparsegate.mechanisms.plan import plan
from sparsegate.privacy.loss import loss
from sparsegate.privacy.outcome import log_probability
from sparsegate.privacy.search import Found, search
from sparsegate.privacy.worst_case import Witness, worst_case

__all__ = ["Found", "Witness", "log_probability", "loss", "plan", "search", "tight_epsilon", "worst_case"]
