"""Helpers of the tests: toy tasks, servers on loopback, worlds to try commands in."""
