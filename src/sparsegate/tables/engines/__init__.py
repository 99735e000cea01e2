"""The engines that tables are counted in."""
