"""Runs on their way to the results dataset: `submission` and `submit` send them, `claim` and `verify` look again."""
