"""Random bits and exact samplers. This room knows nothing of the mechanisms that use it."""

from sparsegate.noise.bernoulli import bernoulli
from sparsegate.noise.binomial import binomial
from sparsegate.noise.discrete_laplace import discrete_laplace, fill_discrete_laplace
from sparsegate.noise.geometric import MAX_SCALE, exact_scale, fill_geometric, geometric
from sparsegate.noise.reservoir import Fill, Reservoir
from sparsegate.noise.sources import Secure, Seeded, Source
from sparsegate.noise.uniform import uniform_below, uniform_set, uniform_subset

__all__ = [
    "MAX_SCALE",
    "Fill",
    "Reservoir",
    "Secure",
    "Seeded",
    "Source",
    "bernoulli",
    "binomial",
    "discrete_laplace",
    "exact_scale",
    "fill_discrete_laplace",
    "fill_geometric",
    "geometric",
    "uniform_below",
    "uniform_set",
    "uniform_subset",
]
