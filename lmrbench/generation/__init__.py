"""Answers: prompts for models, workspaces for agents, and the rows that result from them."""
