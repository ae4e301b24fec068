"""Agents: run one in a container for each instance, and keep what it changed as a row of predictions.

`run.py` plans and writes rows, `box.py` is the container, `relay.py` the one way to the model, `base.py` what an agent
is. One agent a module: `mini.py`, `openhands.py`, `command.py`. `agent_image.py` builds the images of those that need
one of their own.
"""
