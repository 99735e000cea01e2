"""Tables that stay in their database: one moment of it, its columns as kinds, and how it folds text."""
