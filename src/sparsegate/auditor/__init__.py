"""Black box: any callable in, a certified lower bound on what it leaks out.

``audit`` searches for a pair of neighbouring inputs and an event (``neighbours``, ``events``), fixes
them, and counts the event on fresh runs (``certify``, ``betting``). It knows no mechanism of this library.
"""

from sparsegate.auditor.audit import Evidence, Verdict, audit

__all__ = ["Evidence", "Verdict", "audit"]
