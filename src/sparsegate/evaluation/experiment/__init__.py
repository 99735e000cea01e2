"""Experiments: cases worked off by processes, and the folder they leave."""
