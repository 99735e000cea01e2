"""Feature selection: scores of columns with a proven sensitivity, and a transformer that chooses by them."""
