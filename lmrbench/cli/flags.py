"""Flags for the arguments of the Python API that messages of the library name."""

import re

#: Arguments that commands take without a flag.
_POSITIONAL = ("instances", "slug")
#: Argument of the Python API → flag, of the command that runs.
command_flags: dict[str, str] = {}


def flag_of(argument: str) -> str:
    """Return the flag for an argument of the Python API; empty if it has none."""
    if argument in command_flags:
        return command_flags[argument]
    return "" if argument in _POSITIONAL else f"--{argument.replace('_', '-')}"


def with_flags(message: str) -> str:
    """Replace arguments that a message marks, as `instances` or `replace=True`, by their flags."""

    def flag(match: re.Match[str]) -> str:
        is_argument = match[1] in command_flags or match[2]
        return f"`{flag_of(match[1])}`" if is_argument else match[0]

    return re.sub(r"`(\w+)(=True)?`", flag, message)
