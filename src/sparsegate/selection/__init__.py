"""Private selection of the c largest of many scores: `select.py` has the request, the methods and the result."""
