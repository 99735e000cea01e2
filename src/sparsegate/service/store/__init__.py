"""Where a ledger and its gates are kept: a SQLite file, or PostgreSQL."""
