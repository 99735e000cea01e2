"""Exact analysis of every row: outcome probability, privacy loss, worst case; and a search that checks the bounds."""

from noisegate.mechanisms.bounds import tight_epsilon
from noisegate.mechanisms.plan import plan
from noisegate.privacy.loss import loss
from noisegate.privacy.outcome import log_probability
from noisegate.privacy.search import Found, search
from noisegate.privacy.worst_case import Witness, worst_case

__all__ = ["Found", "Witness", "log_probability", "loss", "plan", "search", "tight_epsilon", "worst_case"]
