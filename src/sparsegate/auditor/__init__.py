"""Black box: any callable in, a certified lower bound on what it leaks out.

``audit`` searches for a pair of neighbouring inputs and an event (``search``, ``neighbours``, ``events``), fixes them,
and counts the event on fresh runs (``certify``, ``limits``). Nothing here knows any mechanism of this library.
"""

from sparsegate.auditor.audit import audit
from sparsegate.auditor.verdict import Verdict, Witness

__all__ = ["Verdict", "Witness", "audit"]
