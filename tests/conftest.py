"""Settings that hold for every test."""

from hypothesis import settings

# A deadline measures the machine, not the code; pytest-timeout catches what hangs.
settings.register_profile("noisegate", deadline=None)
settings.load_profile("noisegate")
