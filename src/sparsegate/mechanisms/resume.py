"""A gate that outlives its process: its threshold noise is taken out, kept in secret, and put into a gate like it.

**Theorem.** Let a gate be resumed with the rho, the threshold, the scales and the cutoff of one that stopped, and with
at least as many positives counted as that one gave. Then all answers of both together have the law of one gate that
never stopped and closed, if anything, early: rho is the same, each question has fresh noise of its own in either
case, and nothing else of a gate matters. So going on costs nothing beyond the epsilon of the first.

The law of the noise is kept beside rho, so that a gate goes on with its own, whatever a new one would take. (A secret
without it is one of a gate with Laplace noise: there was no other.)

What ``threshold_noise`` returns is the secret itself. Whoever calls it encrypts it at once (``service.sealed_noise``);
two gates that live at the same time with one rho must share their count of positives (``service.gates``).
"""

from __future__ import annotations

from typing import Any, Final

from sparsegate.errors import ParameterError, SparsegateError
from sparsegate.mechanisms.gate import Gate
from sparsegate.mechanisms.row import Noise
from sparsegate.mechanisms.sparse_vector import SparseVector

_BYTES: Final = 9  # a lattice value has at most 2^62 steps; and one length for all tells nothing
_LAWS: Final = {b"": "laplace", b"L": "laplace", b"E": "exponential"}
_MARKS: Final = {Noise.LAPLACE: b"L", Noise.EXPONENTIAL: b"E"}


def threshold_noise(gate: Gate) -> bytes:
    """Rho, in lattice steps, and the mark of its law. A secret; refused of a gate that was cut short."""
    with gate._lock:
        if gate._drawing:
            gate._refuse()
        return gate._rho.to_bytes(_BYTES, "big", signed=True) + _MARKS[gate._calibration.row.noise]


def resume(secret: bytes, *, asked: int, positives: int, **public: Any) -> SparseVector:
    """The gate that ``SparseVector(**public)`` made, going on after this many questions and positives.

    >>> import sparsegate as sg
    >>> public = {"threshold": 100, "cutoff": 2, "epsilon": 1, "sensitivity": 1, "monotonic": True}
    >>> gate = sg.SparseVector(**public)
    >>> resume(threshold_noise(gate), asked=7, positives=1, **public)
    <SparseVector exponential-gap: 1 of 2 positives, open>
    """
    law, rho = _LAWS.get(secret[_BYTES:]), int.from_bytes(secret[:_BYTES], "big", signed=True)
    if len(secret) < _BYTES or law is None or (law == "exponential" and rho < 0):
        raise SparsegateError("this is no threshold noise of a gate; give what threshold_noise() returned")
    if law == "exponential":
        public.pop("delta", None)  # it was as good without
    gate = SparseVector(**{**public, "noise": law})
    allowed = gate._calibration.positives_allowed
    if not 0 <= positives <= asked or (allowed is not None and positives > allowed):
        raise ParameterError("positives", "must be at most the cutoff and at most what was asked", positives)
    gate._rho = rho
    gate._count(asked, positives)
    return gate
