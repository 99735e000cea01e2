"""Thousands of counting queries from one budget: private multiplicative weights over a table."""
