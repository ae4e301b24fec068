def spacy_result_to_conll(sentence):
    nlp = load_pipeline()
    doc = nlp(sentence.strip())
    lines = [" ".join(name.ljust(width) for name, width in COLUMNS.items())]
    for token in doc:
        values = {
            "ID": token.i + 1,
            "text": token.text,
            "LEMMA": token.lemma_,
            "POS": token.pos_,
            "Tag": token.tag_,
            "HEAD": token.head.i + 1,
            "DEPREL": token.dep_,
        }
        cells = [str(values.get(name, UNUSED)).ljust(width) for name, width in COLUMNS.items()]
        lines.append(" ".join(cells).rstrip())
    return "\n".join(lines)
