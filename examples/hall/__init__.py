"""The pieces of ``examples/audit_public.py``: adapters, entries, their exact laws, and where they run."""
