"""LMR-Bench's data side: tasks, masking, dataset rows, cards and the command line.

`load_rows` and `unpack` (from the root's `loader.py`) are what most users need. Importing this package is cheap:
nothing heavy is loaded before it is used.
"""

from lmrbench_data.errors import InputError, LMRBenchError
from lmrbench_data.version import __version__

__all__ = ["InputError", "LMRBenchError", "__version__"]
