"""Errors that reach a user as one line: what is wrong, where, and how to fix it."""

from ..loader import LMRBenchError, LoadError

__all__ = [
    "ArgumentError",
    "InfraError",
    "InputError",
    "LMRBenchError",
    "LoadError",
    "OverloadError",
]


class InputError(LMRBenchError):
    """Invalid input from the user: a task, a dataset, a prediction file or an argument."""


class ArgumentError(InputError):
    """A wrong argument of a public function; the command line names its flag instead."""

    def __init__(self, argument: str, problem: str) -> None:
        super().__init__(argument, problem)  # both, so that a worker process can pickle it
        self.argument, self.problem = argument, problem

    def __str__(self) -> str:
        return f"{self.argument}: {self.problem}"


class InfraError(LMRBenchError):
    """The machinery failed (engine, image, disk, network): never the fault of a task or a model."""

    exit_code = 3


class OverloadError(InfraError):
    """The machine had no time for a run, so nothing is known about what was run."""
