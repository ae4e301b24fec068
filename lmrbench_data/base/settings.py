"""Settings described once: each field of a settings dataclass carries its default, help text, flags and limits.

    @dataclass(frozen=True, kw_only=True)
    class Greeting(Settings):
        name: str = setting(help="Person to greet.")
        times: int = setting(1, "Number of greetings.", flags=("--times", "-n"), min=1)

The options of the command line (`cli/options.py`), the keyword arguments and docstrings of the Python API (`accepts`)
and the documentation are all made from these fields. Help texts name other settings in backticks; the command line
shows their flags instead.
"""

import dataclasses
import functools
import inspect
import os
import textwrap
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import ArgumentError
from .near import did_you_mean

_KEY, _NESTED = "setting", "nested"
_WIDTH = 116
#: The default of a setting that has none.
REQUIRED = inspect.Parameter.empty

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Settings")


@dataclass(frozen=True, kw_only=True)
class Option:
    """One setting as a user sees it."""

    name: str
    type: Any
    default: Any = REQUIRED
    help: str
    flags: tuple[str, ...]
    """Flags of the command line; none for a positional argument."""
    min: float | None = None
    max: float | None = None
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    argument: bool = False
    """Whether the command line takes it by position instead of by a flag."""

    @property
    def flag(self) -> str:
        """The flag that messages show, or the name of an argument."""
        if self.argument:
            return self.metavar or self.name.upper()
        return self.flags[0].lstrip(" /")

    @property
    def types(self) -> tuple[Any, ...]:
        """The alternatives of the type, without None."""
        kinds = get_args(self.type) if get_origin(self.type) in (Union, types.UnionType) else (self.type,)
        return tuple(kind for kind in kinds if kind is not types.NoneType)

    def text(self) -> str:
        """The help text, followed by the choices that it does not name itself."""
        missing = [choice for choice in self.choices if choice not in self.help]
        return f"{self.help[:-1]}: {', '.join(self.choices)}." if missing else self.help

    def accept(self, value: Any) -> Any:
        """Return a value converted to the type of the setting.

        Raises:
            ArgumentError: it has another type, is not one of the choices or is out of range.
        """
        if value is not None and Path in self.types:
            if not isinstance(value, str | os.PathLike):
                raise ArgumentError(self.name, f"give a path, not {value!r}")
            value = Path(value)
        if get_origin(self.types[0]) is Sequence:
            value = self._list(value)
        if get_origin(self.types[0]) is Mapping and not isinstance(value, Mapping | None):
            raise ArgumentError(self.name, f"give a mapping of names, not {value!r}")
        is_number = value is not None and not {int, float}.isdisjoint(self.types)
        if is_number and (isinstance(value, bool) or not isinstance(value, Real if float in self.types else Integral)):
            kind = "number" if float in self.types else "whole number"
            raise ArgumentError(self.name, f"give a {kind}, not {value!r}")
        if self.choices and value not in self.choices:
            raise ArgumentError(self.name, f"{value!r} is unknown; one of: {', '.join(self.choices)}")
        if is_number:
            # NaN is in no range.
            if self.min is not None and not value >= self.min:
                raise ArgumentError(self.name, f"{value} is too small; the minimum is {self.min}")
            if self.max is not None and not value <= self.max:
                raise ArgumentError(self.name, f"{value} is too large; the maximum is {self.max}")
        return value

    def _list(self, value: Any) -> Iterable[Any]:
        if isinstance(value, str):
            raise ArgumentError(self.name, f"give a list of names, not the string {value!r}")
        if not isinstance(value, Iterable | None):
            raise ArgumentError(self.name, f"give a list, not {value!r}")
        value = () if value is None else value
        # A generator could be read only once.
        items = tuple(value) if isinstance(value, Iterator) else value
        [kind] = get_args(self.types[0])
        if kind is str and (others := [item for item in items if not isinstance(item, str)]):
            raise ArgumentError(self.name, f"give a list of names, not of {others[0]!r}")
        return items


def setting(default: Any = REQUIRED, help: str = "", **facts: Any) -> Any:
    """A field of a settings dataclass.

    Args:
        default: the default; without one the setting is required.
        help: what the setting does, in a sentence or two.
        facts: `flags`, `min`, `max`, `choices`, `metavar`, `argument`: see `Option`.
    """
    return _field(default, {"help": help, **facts})


def nested(**defaults: Any) -> Any:
    """A field that holds other settings, which users see among the rest.

    Args:
        defaults: defaults that differ from those of the other settings.
    """
    return dataclasses.field(metadata={_NESTED: defaults})


def copied(settings: "type[Settings]", name: str, **facts: Any) -> Any:
    """Copy a field of other settings, with the facts that differ."""
    found = next(field for field in dataclasses.fields(settings) if field.name == name)
    return _field(facts.pop("default", _default(found)), {**found.metadata[_KEY], **facts})


def _field(default: Any, facts: Mapping[str, Any]) -> Any:
    return dataclasses.field(default=dataclasses.MISSING if default is REQUIRED else default, metadata={_KEY: facts})


def _default(field: "dataclasses.Field[Any]") -> Any:
    return REQUIRED if field.default is dataclasses.MISSING else field.default


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Root of all settings; values are converted and checked when the object is made.

    Raises:
        ArgumentError: a value has another type, is not one of the choices or is out of range.
    """

    def __post_init__(self) -> None:
        for option in _own_options(type(self)).values():
            object.__setattr__(self, option.name, option.accept(getattr(self, option.name)))


def _own_options(settings: "type[Settings]") -> dict[str, Option]:
    """The options of a settings class without those of nested settings."""
    hints, found = get_type_hints(settings), {}
    for field in dataclasses.fields(settings):
        if _KEY in field.metadata:
            facts = dict(field.metadata[_KEY])
            flag = f"--{field.name.replace('_', '-')}"
            facts["flags"] = () if facts.get("argument") else facts.get("flags") or (flag,)
            found[field.name] = Option(name=field.name, type=hints[field.name], default=_default(field), **facts)
    return found


def options_of(settings: type[Settings], changes: Mapping[str, Any] | None = None) -> list[Option]:
    """The options of a settings class and of the settings nested in it.

    Args:
        changes: name → a new default, or a `setting(...)` whose default and facts replace those of the field.

    Returns:
        Required options first; those of the class itself before those of its bases.
    """
    hints, own, found = get_type_hints(settings), _own_options(settings), list[Option]()
    for field in sorted(dataclasses.fields(settings), key=lambda field: _depth(settings, field.name)):
        if _NESTED in field.metadata:
            found += options_of(hints[field.name], field.metadata[_NESTED])
        elif field.name in own:
            found.append(own[field.name])
    known = changes or {}
    found = [_changed(option, known[option.name]) if option.name in known else option for option in found]
    return sorted(found, key=lambda option: option.default is not REQUIRED)


def _depth(settings: type[Settings], name: str) -> int:
    """Return the distance of the class that defines a field: specific settings come before general ones."""
    return next(
        number for number, owner in enumerate(settings.__mro__) if name in vars(owner).get("__annotations__", ())
    )


def _changed(option: Option, change: Any) -> Option:
    if not isinstance(change, dataclasses.Field):
        return dataclasses.replace(option, default=change)
    facts = {name: value for name, value in change.metadata[_KEY].items() if value or name != "help"}
    if facts.get("flags"):
        facts["argument"] = False
    return dataclasses.replace(option, default=_default(change), **facts)


def build(settings: type[S], values: Mapping[str, Any]) -> S:
    """Settings from a flat mapping of names to values; names that are missing have their defaults.

    Raises:
        ArgumentError: a value has another type, is not one of the choices or is out of range.
    """
    hints, taken = get_type_hints(settings), dict[str, Any]()
    for field in dataclasses.fields(settings):
        if _NESTED in field.metadata:
            inner = hints[field.name]
            known = {option.name for option in options_of(inner)}
            given = {name: value for name, value in values.items() if name in known}
            taken[field.name] = build(inner, {**field.metadata[_NESTED], **given})
        elif field.name in values:
            taken[field.name] = values[field.name]
    return settings(**taken)


def accepts(
    settings: type[S], *positional: str, **changes: Any
) -> Callable[[Callable[Concatenate[S, P], R]], Callable[..., R]]:
    """Give a function of settings the keyword arguments that the settings have.

    The function can be called with keywords or with one settings object in their place. The arguments are added to its
    signature and, after the line `Args:`, to its docstring.

    Args:
        settings: class of the function's first parameter.
        positional: names of arguments that may be given by position, in this order.
        changes: see `options_of`.
    """

    def decorate(function: Callable[Concatenate[S, P], R]) -> Callable[..., R]:
        options = {option.name: option for option in options_of(settings, changes)}
        signature = _signature(function, options, positional)

        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> R:
            if args and isinstance(args[0], settings):
                return function(*args, **keywords)
            given = _bound(function.__name__, signature, args, keywords)
            values = {name: given.pop(name) for name in options if name in given}
            for name, option in options.items():
                if name not in values and option.default is not REQUIRED:
                    values[name] = option.default
            return function(build(settings, values), **given)  # type: ignore[call-arg]

        call.__signature__ = signature  # type: ignore[attr-defined]
        call.__annotations__ = {name: item.annotation for name, item in signature.parameters.items()}
        call.__annotations__["return"] = signature.return_annotation
        call.__doc__ = _docstring(inspect.getdoc(function) or "", list(options.values()))
        return call

    return decorate


def _signature(function: Any, options: Mapping[str, Option], positional: Sequence[str]) -> inspect.Signature:
    _, *own = inspect.signature(function).parameters.values()
    made = {item.name: item for item in own if item.name in positional}
    made |= {option.name: _parameter(option) for option in options.values()}
    made |= {item.name: item for item in own}
    first = [made.pop(name).replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in positional]
    rest = [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in made.values()]
    return inspect.signature(function).replace(parameters=[*first, *rest])


def _parameter(option: Option) -> inspect.Parameter:
    kind = option.type
    if Path in option.types:
        kind = str | os.PathLike[str] | (None if type(None) in get_args(kind) else str)
    default = str(option.default) if isinstance(option.default, Path) else option.default
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _bound(function: str, signature: inspect.Signature, args: Any, keywords: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name.

    Raises:
        TypeError: as Python raises it, with the name that was probably meant.
    """
    for name in keywords:
        if name not in signature.parameters:
            hint = did_you_mean(name, signature.parameters)
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")
    try:
        return dict(signature.bind(*args, **keywords).arguments)
    except TypeError as error:
        raise TypeError(f"{function}() {error}") from None


def _docstring(text: str, options: Sequence[Option]) -> str:
    """A docstring with a line about each option at the head of its arguments."""
    if "Args:\n" not in text:
        raise ValueError(f"a docstring without `Args:`: {text}")
    lines = [f"{option.name}: {option.text()}" for option in options]
    wrap = functools.partial(textwrap.fill, width=_WIDTH, initial_indent="    ", subsequent_indent="        ")
    return text.replace("Args:\n", "Args:\n" + "".join(f"{wrap(line)}\n" for line in lines), 1)
