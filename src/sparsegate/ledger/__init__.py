"""What was spent on a dataset, and what each release gave: an account that survives a crash."""
