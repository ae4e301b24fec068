"""Make text of a candidate harmless to show: no markers, no control sequences, nothing invisible.

Text between markers cannot contain a line that ends it: the code in the markers depends on the
text itself, and anything that looks like a marker gets a backslash.
"""

import hashlib
import itertools
import re
import unicodedata

from lmrbench_data.base.names import is_invisible

#: Places for a backslash in text brought to its plain form: in markers like ours, and in anything
#: with the form of a chat format's control sequence, known or not, which some servers honour
#: anywhere. All patterns have width zero, for sequences may overlap, and are bounded, for no text
#: may take long.
_BREAKS = re.compile(
    r"""(?<==)(?===[=\s]{0,40}(?i:BEGIN|END))                  # our own markers
    | (?<=<)(?=\|) | (?<=\|)(?=>)                              # <|im_start|>, <|channel|>
    | (?<=<)(?=/\s{0,9}[^\W\d])                                # </think>, </tool_response>
    | (?<=<)(?=[^\W\d][\w.:▁-]{0,80}\s{0,9}/?>)                # <think>, <start_of_turn>, <s>
    | (?<=<)(?=[^\W\d][\w.:▁-]{0,80}\s{1,9}\w{1,80}=[^<>]{0,200}>)  # <tool_call name="x">
    | (?<=<)(?=</?\w{1,80}>>)                                  # <<SYS>>
    | (?<=\[)(?=/[^\W\d])                                      # [/INST], [/THINK]
    | (?<=\[)(?=(?:INST|THINK|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_\w{1,40}|[gs]MASK
        |UNUSED_TOKEN_\d{1,9})\])
    | (?<=\])(?=~[!b])                                         # ]~b]system""",
    re.VERBOSE,
)
#: The start of a turn: `Human:` at the start of a line, also of one inside a string or a diff.
_TURN = re.compile(
    r"((?:^|\\n)[-+ \t>#*_\"']{0,99}[A-Z])"
    r"(?=(?i:uman|ser|ssistant|ystem|eveloper|ool|ot|odel|nstructions?|esponse|unction|I)"
    r"[*_]{0,2}\s?:)",
    re.MULTILINE,
)
#: Characters that look like others but have no plain form of their own.
_LOOK = {
    "<": "‹〈⟨❬˂ᐸ◁◀◃◂◄⊲⟪《≺",
    ">": "›〉⟩❭˃ᐳ▷▶▹▸►⊳⟫》≻",
    "|": "¦│∣❘ǀ",
    "[": "【〔⟦",
    "]": "】〕⟧",
    "/": "⁄∕⧸",
}
_LIKE = str.maketrans({char: plain for plain, chars in _LOOK.items() for char in chars})


def enclose(name: str, text: str, code: str = "") -> str:
    """Return `text`, made harmless, between a line that begins it and a line that ends it.

    Args:
        name: the kind of text, in capitals.
        code: the result of `boundary`, for untrusted text.
    """
    label = f"{name} {code}".rstrip()
    return f"===== BEGIN {label} =====\n{harmless(text)}\n===== END {label} ====="


def boundary(*texts: str) -> str:
    """Return a code for the markers around `texts`, which depends on them: none can contain it."""
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def harmless(text: str) -> str:
    """Break look-alikes of markers and control sequences, and escape invisible characters."""
    text = re.sub(r"\r\n?", "\n", text)
    text = "".join(map(_escape, text))
    plain = text if text.isascii() else "".join(map(_plain, text)).translate(_LIKE)
    places = {match.start() for match in _BREAKS.finditer(plain)}
    places.update(match.end(1) for match in _TURN.finditer(plain))
    ends = [0, *sorted(places), len(text)]
    return "\\".join(text[start:end] for start, end in itertools.pairwise(ends))


def _plain(char: str) -> str:
    """Return the plain form of a character, such as a full-width or a mathematical letter."""
    form = unicodedata.normalize("NFKC", char)
    return form if len(form) == 1 else char


def _escape(char: str) -> str:
    """Return an escape for an invisible character, and others as they are."""
    if char in "\n\t" or not is_invisible(char):
        return char
    if char.isascii():
        return f"\\x{ord(char):02x}"
    return char.encode("ascii", "backslashreplace").decode("ascii")
