"""Convert untrusted prose and code to HTML: Markdown with formulas, and highlighted Python.

Markdown has no HTML, links or images here, and of the result only known elements and harmless
attributes are kept. Formulas are MathML.
"""

import textwrap
from functools import lru_cache
from typing import Any

import latex2mathml.converter
import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pygments.lexers import PythonLexer

from lmrbench_data.base.text import visible

#: A longer formula is shown as it was written.
MAX_FORMULA = 2000
_HTML = (
    "p em strong code pre ul ol li blockquote h1 h2 h3 h4 h5 h6 hr br table thead tbody tr th td "
    "span div"
)
_MATHML = (
    "math mrow mi mn mo mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover "
    "mtable mtr mtd mstyle mpadded mphantom menclose"
)
#: Attributes that change how a formula looks and nothing else.
_LOOKS = (
    "display stretchy fence form accent accentunder mathvariant lspace rspace width height depth "
    "linethickness displaystyle scriptlevel columnalign columnspacing rowspacing largeop "
    "movablelimits minsize maxsize notation"
)


def prose(text: str) -> Markup:
    """Convert a stranger's Markdown to HTML."""
    made = _markdown().render(visible(textwrap.dedent(text.expandtabs(4)).strip("\n")))
    attributes = {"*": set(_LOOKS.split()), "code": {"class"}, "span": {"class"}, "div": {"class"}}
    return Markup(nh3.clean(made, tags=set(f"{_HTML} {_MATHML}".split()), attributes=attributes))


@lru_cache
def _markdown() -> Any:
    # No links: a model would choose where they lead.
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.disable(["link", "image", "autolink", "reference", "html_block", "html_inline"])
    return parser.use(dollarmath_plugin, allow_space=False, allow_digits=False, renderer=_formula)


def _formula(source: str, options: dict[str, Any]) -> str:
    """Convert a formula from LaTeX to MathML; show it as written if it cannot be converted."""
    has_markup = "<" in source and "\\text" in source  # nh3 would drop such a text
    try:
        if len(source) <= MAX_FORMULA and not has_markup:
            display = "block" if options.get("display_mode") else "inline"
            return str(latex2mathml.converter.convert(source, display=display))
    except Exception:  # untrusted input may raise anything in a library for trusted input
        pass
    return f'<code class="formula">{escape(source)}</code>'


#: Beginning of a token's type → class of its span.
_CLASSES = {
    "Keyword": "k",
    "Name.Function": "f",
    "Name.Class": "f",
    "Literal.String": "s",
    "Literal.Number": "n",
    "Comment": "c",
    "Operator.Word": "k",
    "Name.Decorator": "f",
    "Name.Builtin": "b",
}


def python_lines(lines: list[str]) -> list[Markup]:
    """Highlight lines of Python; the number of lines stays the same for any text."""
    return _python_lines(tuple(lines))


@lru_cache(maxsize=256)  # every answer to an instance is shown beside the same reference
def _python_lines(lines: tuple[str, ...]) -> list[Markup]:
    # Exactly these lines: the lexer must neither strip nor add any.
    lexer = PythonLexer(stripnl=False, ensurenl=False)
    plain = [visible(line, keep="\t") for line in lines]
    tokens = []
    for kind, value in lexer.get_tokens("\n".join(plain)):
        # A span ends with its line.
        spans = [_span(str(kind), piece) for piece in value.split("\n")]
        tokens.append(Markup("\n").join(spans))
    highlighted = Markup("").join(tokens).split("\n")
    return highlighted if len(highlighted) == len(plain) else [escape(line) for line in plain]


def _span(kind: str, text: str) -> Markup:
    for start, css in _CLASSES.items():
        if text and kind.startswith(f"Token.{start}"):
            return Markup('<i class="{}">{}</i>').format(css, text)
    return escape(text)
