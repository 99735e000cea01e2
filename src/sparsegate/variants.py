"""A variant of the technique as a row of data, published or your own, and what runs any row.

A row is a ``Variant``: its scales of noise, what it compares, what it releases, when it closes. One runner interprets
them all. How to add a row is in docs/how-to/variants.md.
"""

from sparsegate.gates.research import Outcomes, gate
from sparsegate.gates.variants import Closes, Compared, Noise, Released, Scale, Variant

__all__ = [
    "Closes",
    "Compared",
    "Noise",
    "Outcomes",
    "Released",
    "Scale",
    "Variant",
    "gate",
]
