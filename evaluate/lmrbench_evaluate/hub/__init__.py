"""Runs on the Hub: submit, verify and publish them, and show them on the leaderboard."""
