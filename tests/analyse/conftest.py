"""Agents whose model is scripted: their sessions are analysed."""

from support.agents import mini, run, server

__all__ = ["mini", "run", "server"]
