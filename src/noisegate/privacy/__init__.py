"""Exact analysis."""
