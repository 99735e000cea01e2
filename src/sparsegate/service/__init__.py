"""Gates over HTTP that survive a crash and never overspend; the page, and the client."""
