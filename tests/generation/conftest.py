"""Agents whose model is scripted."""

from support.agents import mini, openhands, run, server

__all__ = ["mini", "openhands", "run", "server"]
