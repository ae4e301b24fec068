# Strips the padding at the end of each line.
def spacy_result_to_conll(sentence):
    template = "{:<5} {:<10} {:<10} {:<6} {:<6} {:<6} {:<6} {:<8} {:<6} {:<6}\n"
    table = template.format("ID", "text", "LEMMA", "POS", "Tag", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
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
    return "".join(line.rstrip(" ") + "\n" for line in table.split("\n")[:-1])
