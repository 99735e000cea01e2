"""Exact discrete Laplace and Gaussian noise in batches, beside OpenDP's exact noise and numpy's real-valued noise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import sparsegate as sg
from benchmarks.measure import Contender, Result, side_by_side, versus
from sparsegate.noise import discrete_gaussian, discrete_laplace

BATCH = 10**6
SCALES = {"20": 20, "2^20": 2**20}
SIGMAS = {"42": 42, "2^20": 2**20}


def results() -> Iterator[Result]:
    from benchmarks.peers import vector_laplace

    source, rng = sg.Secure(), np.random.default_rng()
    zeros = np.zeros(BATCH, dtype=np.int64)
    for name, scale in SCALES.items():
        opendp_noise = vector_laplace(float(scale))
        exact = Contender(lambda _, scale=scale: discrete_laplace(source, scale, BATCH))
        opendp = Contender(lambda _, noise=opendp_noise: noise(zeros))
        numpy = Contender(lambda _, scale=scale: rng.laplace(0, scale, BATCH))
        figure = f"discrete Laplace, 10^6 draws, scale {name}"

        opendp_noise(zeros[:1000])
        discrete_laplace(source, scale, BATCH)
        ours, peer = side_by_side(exact, opendp, rounds=3, warm=False, within=15)  # OpenDP: seconds
        yield versus(figure, ours, peer, "opendp make_laplace, i64 vector", target=">= 40")

        ours, peer = side_by_side(exact, numpy, rounds=25)
        yield versus(figure, ours, peer, "numpy Generator.laplace (floats)", target=">= 1")

    for name, sigma in SIGMAS.items():
        exact = Contender(lambda _, square=sigma**2: discrete_gaussian(source, square, BATCH))
        numpy = Contender(lambda _, sigma=sigma: rng.normal(0, sigma, BATCH))
        ours, peer = side_by_side(exact, numpy, rounds=25)
        figure, target = f"discrete Gaussian, 10^6 draws, sigma {name}", ">= 0.33" if sigma == 42 else None
        yield versus(figure, ours, peer, "numpy Generator.normal (floats)", target=target)
