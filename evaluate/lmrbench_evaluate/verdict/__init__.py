"""Decide: decode the output, compare it with the recording, and give a status."""
