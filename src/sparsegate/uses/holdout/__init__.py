"""A validation set that may be looked at many times: Thresholdout over a gate, its account, its scorer."""
