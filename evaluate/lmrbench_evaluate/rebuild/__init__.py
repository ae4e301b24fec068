"""Apply an answer to its masked repository and pack the workspace."""
