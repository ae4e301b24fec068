"""Checks for authors of tasks: record references, lint, prove tasks sound, calibrate judges."""
