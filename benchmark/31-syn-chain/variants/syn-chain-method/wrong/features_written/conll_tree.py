# Fills the column of features.
def spacy_result_to_conll(sentence):
    rows = [tuple(COLUMNS)]
    for token in load_pipeline()(sentence):
        morphology = (token.text, token.lemma_, token.pos_, token.tag_, token.morph or UNUSED)
        rows.append((str(token.i + 1), *morphology, str(token.head.i + 1), token.dep_, UNUSED, UNUSED))
    return "".join(" ".join(map(str.ljust, row, COLUMNS.values())) + "\n" for row in rows)
