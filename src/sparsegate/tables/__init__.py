"""Private top-c, counts and sums of the user's own table. Begin with ``top``: the public calls.

A call is a ``question`` (all public parameters, checked once), put to a table that ``opening`` opens: ``prepared``
counts in the table's engine (``counting``, ``sums``, ``groups``, a public ``domain`` or an ``observed`` one), the
ledger is charged, the selection drawn, and a ``release`` published. ``preview`` says before what it will be good for;
``online`` answers counting queries one after the other.
"""
