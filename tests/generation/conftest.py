"""Agents whose model is scripted."""

from support.agents import run, server

__all__ = ["run", "server"]
