"""Gates over HTTP that survive a crash and never overspend; the page, and the client.

An ask goes web/routes.py -> keeper.py (whose docstring is the map of an ask) -> gate_store.py. ``gates``: where a gate
stands; ``deadline`` and ``departures``: when its answer leaves; ``data``: counts.
"""
