"""What the paper's authors name as uses of the technique, measured against the published methods."""
