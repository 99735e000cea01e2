"""Structure learning: a tree of dependencies between attributes, its tables, and rows sampled from it."""
