"""Settings as pydantic models: fields describe options of the command line and keywords of the API.

    class Greeting(Settings):
        name: str = option(help="Person to greet.")
        times: int = option(1, "Number of greetings.", "--times", "-n", ge=1)

`cli/options.py` makes flags from the fields.
"""

import inspect
import reprlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self, TypeVar

import pydantic

from .errors import ArgumentError
from .suggestions import did_you_mean

Function = TypeVar("Function", bound=Callable[..., Any])


class Settings(pydantic.BaseModel):
    """Root of all settings; values are converted and checked when the object is made."""

    model_config = pydantic.ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True
    )

    @classmethod
    def of(cls, **values: Any) -> Self:
        """Return settings with the values that a user gave.

        Raises:
            ArgumentError: a name is unknown, or a value has another type or is out of range.
        """
        try:
            return cls(**values)
        except pydantic.ValidationError as error:
            first = error.errors()[0]
        name = str(first["loc"][0])
        raise ArgumentError(name, _problem(name, first, cls.model_fields))


def _problem(name: str, error: Mapping[str, Any], known: Iterable[str]) -> str:
    """Return what is wrong with a field, given pydantic's error."""
    kind = error["type"]
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return f"unknown argument{did_you_mean(name, known)}"
    expected = error["msg"].removeprefix("Input ")
    if kind == "path_type":  # pydantic names Python's class of paths
        expected = "should be a path"
    return f"{expected}, not {reprlib.repr(error['input'])}"


def keywords(settings: type[Settings]) -> Callable[[Function], Function]:
    """Let a function's signature show the fields of these settings instead of `**settings`."""

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [item for item in signature.parameters.values() if item.kind is not item.VAR_KEYWORD]
        fields = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.get_default(call_default_factory=True),
                annotation=field.annotation,
            )
            for name, field in settings.model_fields.items()
            if name not in signature.parameters
        ]
        shown = signature.replace(parameters=[*own, *fields])
        function.__signature__ = shown  # type: ignore[attr-defined]
        return function

    return decorate


def option(
    default: Any = ...,
    help: str = "",
    *flags: str,
    metavar: str | None = None,
    argument: bool = False,
    **limits: Any,
) -> Any:
    """A field of settings, also as the metadata of an `Annotated` type that several classes share.

    Args:
        flags: flags of the command line (default: the name of the field).
        argument: whether the command line takes it by position.
        limits: limits of pydantic, such as `ge` and `le`.
    """
    facts: dict[str, Any] = {"flags": list(flags), "metavar": metavar, "argument": argument}
    return pydantic.Field(default, description=help, json_schema_extra=facts, **limits)
