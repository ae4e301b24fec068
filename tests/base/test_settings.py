"""Options are described once: the command line, the Python API and its docstrings are made from the same fields."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.settings import Settings, accepts, build, copied, nested, options_of, setting
from lmrbench_data.cli.options import flag_of, options


@dataclass(frozen=True, kw_only=True)
class Oven(Settings):
    degrees: int = setting(180, "Temperature.", flags=("--heat",), min=50, max=250)
    fan: bool = setting(False, "Use the fan.")


@dataclass(frozen=True, kw_only=True)
class Cake(Settings):
    name: str = setting(help="Name of the cake.", flags=("--name", "-n"))
    oven: Oven = nested(degrees=200)
    size: str = setting("small", "Size of the cake.", choices=("small", "large"))
    recipe: Path | None = setting(None, "Recipe; needs `name`.")
    toppings: Sequence[str] = setting((), "Toppings.", flags=("--topping",))
    fan_of: str = copied(Oven, "fan", default="", help="Name of a fan.")


@accepts(Cake, "name")
def bake(settings: Cake, *, loud: bool = False) -> tuple[Cake, bool]:
    """Bake a cake.

    Args:
        loud: Ring a bell.

    Raises:
        ArgumentError: Too hot.
    """
    return settings, loud


def test_keywords_build_nested_settings() -> None:
    cake, loud = bake("tart", fan=True, recipe="tart.md", toppings=["plum"], loud=True)
    assert (cake.name, cake.recipe, cake.toppings, loud) == ("tart", Path("tart.md"), ["plum"], True)
    assert cake.oven == Oven(degrees=200, fan=True)
    assert bake(cake) == (cake, False), "a settings object stands for its keywords"
    assert build(Cake, {"name": "tart"}).oven.degrees == 200


def test_signature_and_docstring_name_every_setting() -> None:
    parameters = inspect.signature(bake).parameters
    assert list(parameters) == [*(option.name for option in options_of(Cake)), "loud"]
    assert parameters["degrees"].default == 200
    assert parameters["name"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    text = inspect.getdoc(bake) or ""
    assert "    degrees: Temperature.\n" in text
    assert "    size: Size of the cake: small, large.\n" in text
    assert text.index("toppings:") < text.index("loud: Ring a bell.") < text.index("Raises:")


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"degree": 3}, TypeError, "bake() got an unexpected keyword argument 'degree'; did you mean 'degrees'?"),
        ({}, TypeError, "bake() missing a required argument: 'name'"),
        ({"name": "a", "degrees": 1000}, ArgumentError, "degrees: 1000 is too large; the maximum is 250"),
        ({"name": "a", "degrees": float("nan")}, ArgumentError, "degrees: give a whole number, not nan"),
        ({"name": "a", "size": "vast"}, ArgumentError, "size: 'vast' is unknown; one of: small, large"),
        ({"name": "a", "toppings": "plum"}, ArgumentError, "toppings: give a list of names, not the string 'plum'"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_one_clear_line(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        bake(**arguments)
    assert str(caught.value) == words


def test_commands_get_one_settings_object() -> None:
    baked: list[Cake] = []
    app = typer.Typer(rich_markup_mode=None)

    @app.command()
    @options(Cake, without=("fan_of",), size=setting("large", "Size on the command line."))
    def command(settings: Cake, quiet: bool = False) -> None:
        """Bake."""
        baked.append(settings)

    shown = " ".join(CliRunner().invoke(app, ["--help"]).output.split())
    assert "--heat" in shown
    assert "Temperature. [default: 200; 50<=x<=250]" in shown
    assert "Recipe; needs --name." in shown
    assert "Toppings (repeatable)." in shown
    assert "Size on the command line: small, large. [default: large]" in shown
    assert "fan-of" not in shown
    done = CliRunner().invoke(app, ["-n", "tart", "--heat", "60", "--fan", "--topping", "plum", "--recipe", "r.md"])
    assert done.exit_code == 0, done.output
    [cake] = baked
    assert cake == build(
        Cake,
        {"name": "tart", "degrees": 60, "fan": True, "size": "large", "toppings": ["plum"], "recipe": Path("r.md")},
    )
    assert (flag_of("degrees"), flag_of("toppings"), flag_of("other_name")) == ("--heat", "--topping", "--other-name")
    assert CliRunner().invoke(app, ["-n", "tart", "--heat", "20"]).exit_code == 2
