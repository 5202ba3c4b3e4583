"""What is held to be true: working and reviewed memory as two histories, and the pinned head that agents read."""
