"""Open folders of templates."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2


def environment(folder: Path, *, autoescape: bool = False, **filters: Any) -> "jinja2.Environment":
    """Return the templates of a folder; a missing value is an error, a line of tags leaves none."""
    import jinja2

    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=autoescape,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= filters
    return templates
