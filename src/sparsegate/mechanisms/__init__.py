"""The paper's algorithms as rows of a table, one streaming and one batch runner for them, and top-c selection."""
