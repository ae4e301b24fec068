COLUMN_WIDTHS = {
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


def _line(cells):
    padded = [str(cell).ljust(width) for cell, width in zip(cells, COLUMN_WIDTHS.values())]
    return " ".join(padded)


def spacy_result_to_conll(sentence: str) -> str:
    doc = load_pipeline()(sentence)
    lines = [_line(COLUMN_WIDTHS)]
    for number, token in enumerate(doc, start=1):
        lines.append(
            _line(
                [number, token.text, token.lemma_, token.pos_, token.tag_, "_", token.head.i + 1, token.dep_, "_", "_"]
            )
        )
    return "\n".join(lines) + "\n"
