"""Runs on the Hub: submitters send them, maintainers repeat and publish them, the leaderboard shows them."""
