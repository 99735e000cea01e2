"""The service over HTTP: routes, limits, problems, the page, and the server around them."""
