"""LMR-Bench's data side: tasks, masking, dataset rows, cards and the command line.

`load_rows` and `unpack` (from the root's `loader.py`) are what most users need. Importing this package is cheap:
nothing heavy is loaded before it is used.
"""

from typing import TYPE_CHECKING, Any

from .errors import InputError, LMRBenchError

if TYPE_CHECKING:
    from .version import __version__

__all__ = ["InputError", "LMRBenchError", "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":  # asking the installation takes longer than all other imports here
        from .version import __version__

        return __version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
