"""Options are described once: flags of the command line and keywords of the Python API come from the same fields."""

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.testing import CliRunner

from lmrbench.cli.flags import flag_of
from lmrbench.cli.options import options
from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.settings import Settings, option

Fan = Annotated[bool, option(..., "Use the fan.")]


class Oven(Settings):
    degrees: int = option(180, "Temperature.", "--heat", ge=50, le=250)
    fan: Fan = False


class Cake(Oven):
    name: str = option(help="Name of the cake.", argument=True)
    size: Literal["small", "large"] = option("small", "Size of the cake.", "--size", "-s")
    recipe: Path | None = option(None, "Recipe.")
    toppings: tuple[str, ...] = option((), "Toppings (default: none).", "--topping")
    secret: str = option("", "Not on the command line.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "a", "degree": 3}, "degree: unknown argument (did you mean 'degrees'?)"),
        ({}, "name: is missing"),
        ({"name": 3}, "name: should be a valid string, not 3"),
        ({"name": "a", "degrees": 1000}, "degrees: should be less than or equal to 250, not 1000"),
        ({"name": "a", "degrees": float("nan")}, "degrees: should be a finite number, not nan"),
        ({"name": "a", "size": "vast"}, "size: should be 'small' or 'large', not 'vast'"),
        ({"name": "a", "recipe": 5}, "recipe: should be a path, not 5"),
        ({"name": "a", "toppings": "plum"}, "toppings: should be a valid tuple, not 'plum'"),
    ],
)
def test_wrong_argument_is_reported_in_one_line(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        Cake.of(**arguments)
    assert str(caught.value) == message


def test_command_gets_one_settings_object() -> None:
    cakes: list[Cake] = []
    app = typer.Typer(rich_markup_mode=None)

    @app.command()
    @options(Cake, without=("secret",), size=option("large", "Size on the command line."))
    def command(settings: Cake, quiet: bool = False) -> None:
        """Bake."""
        cakes.append(settings)

    shown = " ".join(CliRunner().invoke(app, ["--help"]).output.split())
    for text in (
        "--heat <int range> Temperature. [default: 180; 50<=x<=250]",
        "--fan Use the fan.",
        "--size <small|large> Size on the command line. [default: large]",
        "Toppings (default: none; repeatable).",
    ):
        assert text in shown, shown
    assert "secret" not in shown
    done = CliRunner().invoke(app, ["tart", "--heat", "60", "--fan", "--topping", "plum", "--recipe", "r.md"])
    assert done.exit_code == 0, done.output
    assert cakes == [Cake(name="tart", degrees=60, fan=True, size="large", toppings=("plum",), recipe=Path("r.md"))]
    flags = [flag_of(name) for name in ("name", "degrees", "toppings", "other_name")]
    assert flags == ["NAME", "--heat", "--topping", "--other-name"]
    assert CliRunner().invoke(app, ["tart", "--heat", "20"]).exit_code == 2
