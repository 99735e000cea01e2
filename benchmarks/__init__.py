"""Figures beside the peers': ``make bench``, or ``python -m benchmarks noise gate``. One JSON line for each figure."""
