"""Private top-c of the user's own table, counted in the user's own engine."""
