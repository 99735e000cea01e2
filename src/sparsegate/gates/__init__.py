"""The sparse vector technique: `variants.py` has the rows, `gate.py` a gate's life, `sparse_vector.py` its face."""
