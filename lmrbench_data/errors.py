"""The exceptions that reach a user as one line: what is wrong, where, how to mend it."""


class LMRBenchError(Exception):
    """Base of all errors that the command line prints without a traceback."""

    #: Exit status of the command line (see `lmrbench_data/cli`).
    exit_code = 1


class InputError(LMRBenchError):
    """What the user gave is wrong: a task, a dataset, a prediction file, an option."""


class InfraError(LMRBenchError):
    """The machinery failed (engine, image, disk, network): never the fault of a task or a model."""

    exit_code = 3
