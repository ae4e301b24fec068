"""Show dependency parses: as the table that language models are given, and as an indented tree for people."""

from nlp.parser import load_pipeline
from nlp.tokens import Token


def spacy_result_to_conll(sentence: str) -> str:
    """Parse a text and write the result as a fixed-width table in the manner of CoNLL-U.

    Args:
        sentence: the text as it is; one sentence, several or none.

    Returns:
        The table: a header line, then a line for every token, all with their line ends.
    """
    widths = (5, 10, 10, 6, 6, 6, 6, 8, 6, 6)
    rows = [("ID", "text", "LEMMA", "POS", "Tag", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")]
    for token in load_pipeline()(sentence):
        morphology = (token.text, token.lemma_, token.pos_, token.tag_)
        rows.append((str(token.i + 1), *morphology, "_", str(token.head.i + 1), token.dep_, "_", "_"))
    return "".join(" ".join(map(str.ljust, row, widths)) + "\n" for row in rows)


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
