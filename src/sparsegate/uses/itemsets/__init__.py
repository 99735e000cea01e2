"""Frequent itemsets of any size: levels whose candidates are what was released before."""
