"""Optional dependencies: a missing one is one line that names the extra to install."""

import importlib.util

from .errors import InputError

#: Extra → the modules that it brings (pyproject.toml).
EXTRAS = {
    "report": ("matplotlib", "statsmodels", "markdown_it", "mdit_py_plugins", "latex2mathml", "pygments"),
    "papers": ("pymupdf4llm",),
    "agents": ("minisweagent", "litellm", "mcp"),
    "dev": ("libcst",),
}


def need(extra: str, what: str) -> None:
    """Check that an extra is installed, before the work that needs it begins.

    Args:
        what: the thing that needs it, as the subject of a sentence.

    Raises:
        InputError: one of its modules is not installed.
    """
    missing = [name for name in EXTRAS[extra] if importlib.util.find_spec(name) is None]
    if missing:
        command = f"pip install 'lmrbench-data[{extra}]'"
        raise InputError(f"{what} needs the extra `{extra}` ({', '.join(missing)} missing): {command}")
