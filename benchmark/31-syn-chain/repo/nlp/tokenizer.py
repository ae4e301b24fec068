"""Split a text into words, punctuation, contractions and stray white space."""

import re

#: Numbers with inner points, both parts of negated auxiliaries, clitics, words with hyphens, dots, any other character.
_PIECE = re.compile(
    r"\d+(?:[.,:]\d+)*|\w+?(?=n['’]t\b)|n['’]t\b|['’](?:s|re|ve|ll|d|m)\b|\w+(?:-\w+)*|\.{2,}|[^\w\s]", re.IGNORECASE
)
_RUN = re.compile(r"\s+|\S+")


def tokenize(text: str) -> tuple[list[str], list[bool]]:
    """Words of a text, and whether a blank follows each.

    As in spaCy, the first blank after a word belongs to that word. White space beyond it (second blanks, line breaks,
    tabs, blanks at the start) makes a token of its own, so that nothing of the text is lost.
    """
    words: list[str] = []
    spaces: list[bool] = []
    for run in _RUN.findall(text):
        if not run.isspace():
            pieces = _PIECE.findall(run)
            words += pieces
            spaces += [False] * len(pieces)
            continue
        if words and run[0] == " ":
            spaces[-1] = True
            run = run[1:]
        if run:
            words.append(run)
            spaces.append(False)
    return words, spaces
