"""Optional dependencies: a missing one is an error that names the extra to install."""

import importlib.util

from .errors import InputError

#: Extra → its modules (pyproject.toml).
EXTRAS = {
    "report": (
        "matplotlib",
        "statsmodels",
        "markdown_it",
        "mdit_py_plugins",
        "latex2mathml",
        "nh3",
        "pygments",
    ),
    "ray": ("ray",),
}


def require_extra(extra: str, what: str) -> None:
    """Check that an extra is installed, before work that needs it begins.

    Args:
        what: the feature that needs it, as the subject of a sentence.

    Raises:
        InputError: a module of the extra is not installed.
    """
    if missing := [name for name in EXTRAS[extra] if importlib.util.find_spec(name) is None]:
        install = f"pip install 'lmrbench[{extra}]'"
        raise InputError(
            f"{what} needs the extra `{extra}` ({', '.join(missing)} missing): {install}"
        )
