"""The sparse vector technique: gates that say which answers are above a threshold.

Start with ``variants`` (the published algorithms, a row of data each) and ``gate`` (the life of a gate);
``sparse_vector`` has the public gate. ``bounds`` has the tight loss of every row, with its proof, and ``calibration``
makes a row ready to run.
"""
