"""Runs: many predictions evaluated into one folder.

`evaluation` plans the jobs and runs them on an `engine`; `writer` fills the run folder, and
`folder` reads it.
"""
