# A format template.
def spacy_result_to_conll(sentence):
    template = " ".join(f"{{:<{width}}}" for width in COLUMNS.values()) + "\n"
    lines = [template.format(*COLUMNS)]
    for number, token in enumerate(load_pipeline()(sentence), start=1):
        cells = (number, token.text, token.lemma_, token.pos_, token.tag_, "_", token.head.i + 1, token.dep_, "_", "_")
        lines.append(template.format(*cells))
    return "".join(lines)
