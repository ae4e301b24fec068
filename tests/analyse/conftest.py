"""Agents whose model is scripted: their sessions are analysed."""

from support.agents import run, server

__all__ = ["run", "server"]
