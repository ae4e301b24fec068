"""Helpers that know nothing of dialogues."""
