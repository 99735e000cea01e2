"""The ledger of what was spent on a dataset, and whatever serves private answers against it."""
