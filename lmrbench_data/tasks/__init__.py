"""Task folders: reading, masking, recordings, environments."""
