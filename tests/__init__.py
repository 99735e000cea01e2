"""The tests. A package, so that no other of this name that is installed hides them: diffprivlib brings one."""
