import io

_WIDTHS = "5 10 10 6 6 6 6 8 6 6"


def spacy_result_to_conll(sentence: str) -> str:
    nlp = load_pipeline()
    doc = nlp(sentence)
    position = {id(token): number for number, token in enumerate(doc, 1)}
    widths = [int(width) for width in _WIDTHS.split()]
    rows = ["ID text LEMMA POS Tag FEATS HEAD DEPREL DEPS MISC".split()]
    for token in doc:
        row = ["_"] * 10
        row[0] = "%d" % position[id(token)]
        row[1:5] = token.text, token.lemma_, token.pos_, token.tag_
        row[6:8] = "%d" % position[id(token.head)], token.dep_
        rows.append(row)
    buffer = io.StringIO()
    for row in rows:
        print(*("%-*s" % (width, cell) for width, cell in zip(widths, row)), file=buffer)
    return buffer.getvalue()
