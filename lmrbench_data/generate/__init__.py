"""Answers: prompts for models, workspaces for agents, and the rows of predictions that come of them.

Calling the package samples answers: `lmrbench_data.generate(...)` is `lmrbench_data.api.generate`.
"""

from ..verbs import make_callable

make_callable(__name__)
