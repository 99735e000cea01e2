"""Random bits and exact samplers. This room knows nothing of the mechanisms that use it."""

from noisegate.noise.bernoulli import bernoulli
from noisegate.noise.binomial import binomial
from noisegate.noise.geometric import MAX_SCALE, exact_scale, geometric
from noisegate.noise.laplace import discrete_laplace
from noisegate.noise.reservoir import Reservoir
from noisegate.noise.sources import Lineage, Secure, Seeded, Source
from noisegate.noise.uniform import uniform_below, uniform_subset

__all__ = [
    "MAX_SCALE",
    "Lineage",
    "Reservoir",
    "Secure",
    "Seeded",
    "Source",
    "bernoulli",
    "binomial",
    "discrete_laplace",
    "exact_scale",
    "geometric",
    "uniform_below",
    "uniform_subset",
]
