# Starts the numbers again with each sentence.
def spacy_result_to_conll(sentence):
    template = "{:<5} {:<10} {:<10} {:<6} {:<6} {:<6} {:<6} {:<8} {:<6} {:<6}\n"
    table = template.format("ID", "text", "LEMMA", "POS", "Tag", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
    doc = load_pipeline()(sentence)
    first = {t.i: s[0].i for s in doc.sents for t in s}
    for token in doc:
        table += template.format(
            token.i - first[token.i] + 1,
            token.text,
            token.lemma_,
            token.pos_,
            token.tag_,
            "_",
            token.head.i - first[token.head.i] + 1,
            token.dep_,
            "_",
            "_",
        )
    return table
