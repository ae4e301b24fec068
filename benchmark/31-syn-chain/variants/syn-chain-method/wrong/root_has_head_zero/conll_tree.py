# Writes 0 as the head of a root, as CoNLL-U does.
def spacy_result_to_conll(sentence):
    rows = [tuple(COLUMNS)]
    for token in load_pipeline()(sentence):
        head = 0 if token.head is token else token.head.i + 1
        morphology = (token.text, token.lemma_, token.pos_, token.tag_)
        rows.append((str(token.i + 1), *morphology, UNUSED, str(head), token.dep_, UNUSED, UNUSED))
    return "".join(" ".join(map(str.ljust, row, COLUMNS.values())) + "\n" for row in rows)
