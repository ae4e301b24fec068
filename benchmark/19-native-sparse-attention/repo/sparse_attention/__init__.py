"""A small decoder around native sparse attention: compression, block selection, gates and packing."""
