"""The paper's statements, and what the results say about each."""
