"""Private prediction: a public model's tokens where they will do, private ones where not."""
