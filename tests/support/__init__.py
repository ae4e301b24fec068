"""Test helpers: toy tasks, loopback servers, and worlds for commands."""
