"""What people do with a result: convert it, show it, draw it, print it as JSON. Imports nothing but errors."""
