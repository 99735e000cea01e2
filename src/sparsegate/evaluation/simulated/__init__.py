"""Methods simulated on grouped scores, and how far off their answers are."""
