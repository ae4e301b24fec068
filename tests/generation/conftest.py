"""Agents whose model is scripted."""

from support.agents import mini, run, server

__all__ = ["mini", "run", "server"]
