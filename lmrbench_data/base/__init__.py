"""Foundations of all packages: errors, text, files, logs, child processes, the Hub's client."""
