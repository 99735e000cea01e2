"""Alerts on a stream: distinct people in windows against a threshold."""
