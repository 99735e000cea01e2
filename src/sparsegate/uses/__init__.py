"""What people reach for the sparse vector technique for, each use built from the public pieces of the rooms below."""
