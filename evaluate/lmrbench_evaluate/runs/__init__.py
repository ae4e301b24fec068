"""Runs: many predictions evaluated into one folder.

`evaluation` plans and runs the jobs on an `engine`; `writer` fills the run folder, and `folder` reads it.
"""
