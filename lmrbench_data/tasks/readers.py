"""Results of fresh readers: language-model agents that answered once, and whose answers were evaluated afterwards."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..base.errors import InputError
from ..base.strict_yaml import read_yaml

#: Facts of an instance: numbers of attempts, of those that reproduced the method, of those that were robust; whether a
#: reader without the paper reproduced it; later changes and remarks.
_FACTS = {"attempts": int, "reproduced": int, "robust": int, "without_paper": bool, "note": str}
#: An attempt at an altered paper; `choices` maps each altered or open choice to the option that the answer implements,
#: empty for none.
_ATTEMPT = {"shell": bool, "reproduced": bool, "choices": dict}


def read_readers(benchmark: Path) -> dict[str, dict[str, Any]]:
    """Read the readers of functions and methods by instance; none if the file is missing.

    Raises:
        InputError: the file is malformed.
    """
    return _read(benchmark / "readers.yaml", lambda facts: _has(facts, _FACTS), ", ".join(_FACTS))


def read_choice_readers(benchmark: Path) -> dict[str, list[dict[str, Any]]]:
    """Read the attempts at altered papers by instance; none if the file is missing.

    Raises:
        InputError: the file is malformed.
    """

    def is_list(attempts: Any) -> bool:
        return isinstance(attempts, list) and all(_has(facts, _ATTEMPT) for facts in attempts)

    return _read(benchmark / "choice_readers.yaml", is_list, f"a list of {', '.join(_ATTEMPT)}")


def _read(path: Path, is_right: Callable[[Any], bool], needed: str) -> dict[str, Any]:
    found: dict[str, Any] = read_yaml(path) if path.is_file() else {}
    for instance, facts in found.items():
        if not is_right(facts):
            raise InputError(f"{path}: {instance}: needs {needed}, and nothing else")
    return found


def _has(facts: Any, types: Mapping[str, type]) -> bool:
    return isinstance(facts, dict) and {name: type(value) for name, value in facts.items()} == types
