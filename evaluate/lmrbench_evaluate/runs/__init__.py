"""Runs: many predictions evaluated into one folder.

`evaluation` plans and runs the jobs; `writer` fills the run folder, and `folder` reads it. `provenance` says whose
tasks and verdicts a run has.
"""
