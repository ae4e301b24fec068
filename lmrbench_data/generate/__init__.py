"""Answers: prompts for models, workspaces for agents, and the rows of predictions that come of them."""
