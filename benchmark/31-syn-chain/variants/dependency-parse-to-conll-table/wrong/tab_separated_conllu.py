# Writes standard CoNLL-U: tabs, no header.
def spacy_result_to_conll(sentence):
    template = "\t".join(["{}"] * 10) + "\n"
    table = ""
    for token in load_pipeline()(sentence):
        table += template.format(
            token.i + 1,
            token.text,
            token.lemma_,
            token.pos_,
            token.tag_,
            "_",
            token.head.i + 1,
            token.dep_,
            "_",
            "_",
        )
    return table
