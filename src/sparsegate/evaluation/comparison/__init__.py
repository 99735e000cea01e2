"""The leaderboard: every way to select against every other, and who wins where."""
