"""Agents: run one in a container for each instance, and keep its changes as a row of predictions.

`agent_runs.py` plans and writes rows, `box.py` is the container, `relay.py` the only connection to the model, `base.py`
the interface of agents. Each agent has a module: `mini.py`, `openhands.py`, `command.py`. `agent_image.py` builds the
images of those that need one of their own.
"""
