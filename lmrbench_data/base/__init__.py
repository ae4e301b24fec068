"""Foundations that all packages use: errors, text, files, logs, child processes, the Hub's client."""
