"""Random bits and exact samplers. This room knows nothing of the mechanisms that use it.

Start with ``sources`` (where bits come from), ``laplace`` and ``gaussian`` (how noise is drawn from them); ``clocks``
put noisy scores in order.
"""

from sparsegate.noise.coins import bernoulli, binomial, uniform_below, uniform_set, uniform_subset
from sparsegate.noise.gaussian import discrete_gaussian, exact_square, fill_discrete_gaussian
from sparsegate.noise.laplace import (
    Fill,
    Reservoir,
    discrete_laplace,
    exact_scale,
    fill_discrete_laplace,
    fill_geometric,
    geometric,
)
from sparsegate.noise.sources import Secure, Seeded, Source

__all__ = [
    "Fill",
    "Reservoir",
    "Secure",
    "Seeded",
    "Source",
    "bernoulli",
    "binomial",
    "discrete_gaussian",
    "discrete_laplace",
    "exact_scale",
    "exact_square",
    "fill_discrete_gaussian",
    "fill_discrete_laplace",
    "fill_geometric",
    "geometric",
    "uniform_below",
    "uniform_set",
    "uniform_subset",
]
