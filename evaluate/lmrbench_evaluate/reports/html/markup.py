"""Convert untrusted prose and code to HTML: Markdown with formulas as MathML, and highlighted Python.

All elements are made here: Markdown has no HTML, links or images, and of the formula converter's output only known
elements and harmless attributes are written.
"""

import re
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup, escape

from lmrbench_data.base.text import visible

#: A longer formula is shown as it was written.
MAX_FORMULA = 2000
_MATHML = "{http://www.w3.org/1998/Math/MathML}"
_ELEMENTS = frozenset(
    [
        "math",
        "mrow",
        "mi",
        "mn",
        "mo",
        "mtext",
        "mspace",
        "mfrac",
        "msqrt",
        "mroot",
        "msub",
        "msup",
        "msubsup",
        "munder",
        "mover",
        "munderover",
        "mtable",
        "mtr",
        "mtd",
        "mstyle",
        "mpadded",
        "mphantom",
        "menclose",
    ]
)
#: Attributes that change how a formula looks and nothing else, and the values that they may have.
_ATTRIBUTES = frozenset(
    [
        "display",
        "stretchy",
        "fence",
        "form",
        "accent",
        "accentunder",
        "mathvariant",
        "lspace",
        "rspace",
        "width",
        "height",
        "depth",
        "linethickness",
        "displaystyle",
        "scriptlevel",
        "columnalign",
        "columnspacing",
        "rowspacing",
        "largeop",
        "movablelimits",
        "minsize",
        "maxsize",
        "notation",
    ]
)
_VALUE = re.compile(r"[\w.%+ -]{1,40}")


def prose(text: str) -> Markup:
    """Convert a stranger's Markdown to HTML."""
    return Markup(_markdown().render(visible(reflow(text))))


@lru_cache
def _markdown() -> Any:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    # No links: a model would choose where they lead.
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.disable(["link", "image", "autolink", "reference", "html_block", "html_inline"])
    return parser.use(dollarmath_plugin, allow_space=False, allow_digits=False, renderer=_render)


def _render(source: str, options: dict[str, Any]) -> str:
    block = bool(options.get("display_mode"))
    return str(formula(source, block=block))


def formula(source: str, *, block: bool = False) -> Markup:
    """Convert a formula from LaTeX to MathML; show it as written if it cannot be converted."""
    import latex2mathml.converter

    written = Markup('<code class="formula">{}</code>').format(source)
    if len(source) > MAX_FORMULA:
        return written
    try:
        made = latex2mathml.converter.convert(source, display="block" if block else "inline")
        return _rebuilt(ElementTree.fromstring(made))
    except Exception:  # untrusted input may raise anything in a library for trusted input
        return written


def _rebuilt(element: ElementTree.Element) -> Markup:
    """Write an element of MathML anew.

    Raises:
        ValueError: it is not a known element.
    """
    name = element.tag.removeprefix(_MATHML)
    if name not in _ELEMENTS:
        raise ValueError(f"{name} is not an element of a formula")
    kept = {key: value for key, value in element.attrib.items() if key in _ATTRIBUTES and _VALUE.fullmatch(value)}
    attributes = Markup("").join(Markup(' {}="{}"').format(key, value) for key, value in kept.items())
    inside = Markup("").join((escape(element.text or ""), *map(_rebuilt, element)))
    return Markup("<{0}{1}>{2}</{0}>").format(name, attributes, inside) + escape((element.tail or "").strip())


def reflow(text: str) -> str:
    """Remove the indentation that Markdown has in a YAML or Python file."""
    lines = text.expandtabs(4).strip("\n").splitlines()
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    return "\n".join(line[min(indents, default=0) :] for line in lines)


#: Class of a span, by the beginning of a token's type.
_CLASSES = {"Keyword": "k", "Name.Function": "f", "Name.Class": "f", "Literal.String": "s", "Literal.Number": "n"}
_CLASSES |= {"Comment": "c", "Operator.Word": "k", "Name.Decorator": "f", "Name.Builtin": "b"}


def python_lines(lines: list[str]) -> list[Markup]:
    """Highlight lines of Python; the number of lines stays the same for any text."""
    return _python_lines(tuple(lines))


@lru_cache(maxsize=256)  # every answer to an instance is shown beside the same reference
def _python_lines(lines: tuple[str, ...]) -> list[Markup]:
    from pygments.lexers import PythonLexer

    # Exactly these lines: the lexer must neither strip nor add any.
    lexer = PythonLexer(stripnl=False, ensurenl=False)
    plain = [visible(line, keep="\t") for line in lines]
    written: list[list[Markup]] = [[]]
    for kind, value in lexer.get_tokens("\n".join(plain)):
        name = str(kind).removeprefix("Token.")
        css = next((css for start, css in _CLASSES.items() if name.startswith(start)), "")
        for number, piece in enumerate(value.split("\n")):
            if number:
                written.append([])
            if piece:
                written[-1].append(Markup('<i class="{}">{}</i>').format(css, piece) if css else escape(piece))
    made = [Markup("").join(pieces) for pieces in written]
    return made if len(made) == len(plain) else [escape(line) for line in plain]
