"""NVFlare's SVTPrivacy as a mechanism for the command line; nvflare has to be installed beside sparsegate.

    sparsegate audit examples.hall.nvflare_filter:sent --epsilon 1.1 --queries 10 --sensitivity 1000.0 --samples 20000

"Answers" are the coordinates of an update, and the sensitivity says how far an update may move each. Releases from
2.8.0 on clip them at gamma = 1, so that no move counts for more than 2.
"""

from __future__ import annotations

from typing import Any

from examples.hall.adapters import nvflare_filter

SETTINGS = {"fraction": 0.1, "epsilon": 1.0, "noise_var": 0.1, "gamma": 1.0, "tau": 0.1}
CLAIM, _outcomes = nvflare_filter(SETTINGS)
"""What releases from 2.8.0 on report for ten coordinates, 1.1; older ones report nothing, and this is ``epsilon``."""


def sent(update: Any) -> Any:
    """What leaves the client: places and values, and where it is sent, the number of passes."""
    (outcome,) = _outcomes(list(update), 1)
    return outcome
