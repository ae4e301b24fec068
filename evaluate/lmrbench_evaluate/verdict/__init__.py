"""Verdicts: decode an answer's output, compare it with the recorded one, decide the status."""
