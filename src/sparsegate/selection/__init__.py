"""Private top-c selection. Start with ``select``: the request, the table of methods, and what is returned.

Each method has a file with its theorem; ``scores`` groups equal scores, ``race`` decides who is first, exactly.
"""
