"""Agents: run one in a container for each instance, and keep its changes as a row of predictions.

`agent_runs.py` plans and writes rows, `box.py` is the container, `relay.py` the only connection to
the model, `base.py` the interface of agents. `command.py` runs the user's own command,
`installed.py` the agents that others wrote, whose images `agent_image.py` builds.
"""
