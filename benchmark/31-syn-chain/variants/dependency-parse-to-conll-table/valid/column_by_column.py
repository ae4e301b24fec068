from nlp.parser import Pipeline


def spacy_result_to_conll(sentence: str) -> str:
    tokens = list(Pipeline()(sentence))
    unused = ["_" for _ in tokens]
    columns = [
        ("ID", 5, [str(token.i + 1) for token in tokens]),
        ("text", 10, [token.text for token in tokens]),
        ("LEMMA", 10, [token.lemma_ for token in tokens]),
        ("POS", 6, [token.pos_ for token in tokens]),
        ("Tag", 6, [token.tag_ for token in tokens]),
        ("FEATS", 6, unused),
        ("HEAD", 6, [str(token.head.i + 1) for token in tokens]),
        ("DEPREL", 8, [token.dep_ for token in tokens]),
        ("DEPS", 6, unused),
        ("MISC", 6, unused),
    ]
    padded = [[f"{cell:{width}}" for cell in (title, *cells)] for title, width, cells in columns]
    return "".join(" ".join(row) + "\n" for row in zip(*padded))
