"""Gates, asks and requests in the database of a ledger."""
