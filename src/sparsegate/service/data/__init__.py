"""The served table: opened, copied, fingerprinted and counted."""
