"""Show dependency parses: as the table that language models are given, and as an indented tree for people."""

from nlp.parser import load_pipeline
from nlp.tokens import Token

#: Titles of the table's columns, and their widths in characters.
COLUMNS = {
    "ID": 5,
    "text": 10,
    "LEMMA": 10,
    "POS": 6,
    "Tag": 6,
    "FEATS": 6,
    "HEAD": 6,
    "DEPREL": 8,
    "DEPS": 6,
    "MISC": 6,
}
#: What the columns hold that the chain has no use for.
UNUSED = "_"


def spacy_result_to_conll(sentence: str) -> str:
    """Parse a text and write the result as a fixed-width table in the manner of CoNLL-U.

    Args:
        sentence: the text as it is; one sentence, several or none.

    Returns:
        The table: a header line, then a line for every token.
    """
    rows = [tuple(COLUMNS)]
    for token in load_pipeline()(sentence):
        morphology = (token.text, token.lemma_, token.pos_, token.tag_)
        relation = (str(token.head.i + 1), token.dep_)
        rows.append((str(token.i + 1), *morphology, UNUSED, *relation, UNUSED, UNUSED))
    return "".join(" ".join(map(str.ljust, row, COLUMNS.values())) + "\n" for row in rows)


def draw_tree(sentence: str) -> str:
    """Parse a text and draw each sentence's tree: dependents below their head and indented, in order of the text."""
    lines: list[str] = []

    def draw(token: Token, depth: int) -> None:
        lines.append(f"{'    ' * depth}{token.text} ({token.dep_})")
        for child in token.children:
            draw(child, depth + 1)

    for token in load_pipeline()(sentence):
        if token.head is token:
            draw(token, 0)
    return "\n".join(lines)
