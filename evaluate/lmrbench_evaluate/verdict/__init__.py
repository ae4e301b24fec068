"""Verdicts: decode the output of an answer, compare it with the recorded one, and decide the status."""
