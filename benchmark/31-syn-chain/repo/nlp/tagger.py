"""Lemmas and tags from a lexicon, with guesses by shape and ending for unknown words."""

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

LEXICON = Path(__file__).with_name("lexicon.json")

_PUNCTUATION = {".": ".", "!": ".", "?": ".", ",": ",", ":": ":", ";": ":", "(": "-LRB-", ")": "-RRB-", "-": "HYPH"}
_SYMBOLS = frozenset("$€£%+=<>#&*@^~|")
#: Ending, what the lemma has in its place, coarse tag, fine tag, features; the first that fits is taken.
_ENDINGS = (
    ("ly", "ly", "ADV", "RB", ""),
    ("ing", "", "VERB", "VBG", "VerbForm=Ger"),
    ("ied", "y", "VERB", "VBD", "Tense=Past"),
    ("ed", "", "VERB", "VBD", "Tense=Past"),
    ("ies", "y", "NOUN", "NNS", "Number=Plur"),
    ("ss", "ss", "NOUN", "NN", "Number=Sing"),
    ("s", "", "NOUN", "NNS", "Number=Plur"),
    ("ful", "ful", "ADJ", "JJ", "Degree=Pos"),
    ("ous", "ous", "ADJ", "JJ", "Degree=Pos"),
    ("able", "able", "ADJ", "JJ", "Degree=Pos"),
)


class Analysis(NamedTuple):
    """What the tagger says about a word."""

    lemma: str
    pos: str
    tag: str
    morph: str = ""


@cache
def load_lexicon() -> dict[str, Analysis]:
    """Lower-case word -> analysis."""
    entries = json.loads(LEXICON.read_text(encoding="utf-8"))
    return {word: Analysis(*fields) for word, fields in entries.items()}


def analyse(word: str, starts_sentence: bool) -> Analysis:
    """Lemma and tags of one word, without regard to its neighbours."""
    if word.isspace():
        return Analysis(word, "SPACE", "_SP")
    lower = word.lower().replace("’", "'")
    if lower in (lexicon := load_lexicon()):
        return lexicon[lower]
    if word[0].isdigit():
        return Analysis(word, "NUM", "CD", "NumType=Card")
    if not word[0].isalnum():
        if word in _SYMBOLS:
            return Analysis(word, "SYM", "SYM")
        return Analysis(word, "PUNCT", _PUNCTUATION.get(word, "NFP"), "PunctType=Peri" if word in ".!?" else "")
    if word[0].isupper() and not starts_sentence:
        return Analysis(word, "PROPN", "NNP", "Number=Sing")
    for ending, replacement, *tags in _ENDINGS:
        if lower.endswith(ending) and len(lower) > len(ending) + 2:
            return Analysis(lower.removesuffix(ending) + replacement, *tags)
    return Analysis(lower, "NOUN", "NN", "Number=Sing")
