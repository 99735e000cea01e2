"""Settings that hold for every test."""

from hypothesis import settings

# A deadline measures the machine, not the code; pytest-timeout catches what hangs.
settings.register_profile("sparsegate", deadline=None)
settings.load_profile("sparsegate")
