"""Answers: prompts for models, workspaces for agents, and the prediction rows that result from them."""
