"""Errors that reach a user as one line: what is wrong, where, and how to fix it.

    LMRBenchError               root of all errors
      LoadError                 a dataset or an archive is damaged or unknown
        HubUnavailableError     the Hub does not answer
        NoConfigError           a dataset has no such configuration
      InputError                the user can fix the input
        ArgumentError           an argument, or its flag, is wrong
        BadReferenceError       a reference does not return on every seed
        ConflictError           somebody else changed the repository on the Hub
        SourceError             code cannot be read
          MalformedAnswerError  an answer holds no usable code
      InfraError                the machinery failed (exit status 3)
        OverloadError           the machine had no time for a run
        GoneError               a zygote ended before it took an answer
        LostAnswerError         the Hub did not say whether a write arrived
        UnreachableError        a server of papers cannot be reached
        GitError                git failed
          GitLimitError         git exceeded its limits
      NotJudgedError            an answer cannot be shown to a judge

Signals that the package catches itself, which no user meets:

    CostLimitError, NotAllowedError, RequestError, RunEndedError, StreamError, TooLargeError, TooMuchError,
    UnreadableError, UnsupportedOutput
"""

from ..loader import LMRBenchError, LoadError

__all__ = ["ArgumentError", "InfraError", "InputError", "LMRBenchError", "LoadError", "OverloadError"]


class InputError(LMRBenchError):
    """Invalid input from the user: a task, a dataset, a prediction file or an argument."""


class ArgumentError(InputError):
    """An argument of a public function is wrong; the command line names its flag instead.

    Attributes:
        argument: its name, as in the function's signature.
        problem: what is wrong with it.
    """

    def __init__(self, argument: str, problem: str) -> None:
        super().__init__(f"{argument}: {problem}")
        self.argument, self.problem = argument, problem


class InfraError(LMRBenchError):
    """The machinery failed (engine, image, disk, network): never the fault of a task or a model."""

    exit_code = 3


class OverloadError(InfraError):
    """The machine had no time for a run, so nothing is known about what was run."""
