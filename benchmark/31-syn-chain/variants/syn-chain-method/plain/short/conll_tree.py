def spacy_result_to_conll(sentence):
    lines = [" ".join(t.ljust(w) for t, w in COLUMNS.items())]
    for t in load_pipeline()(sentence):
        row = [t.i + 1, t.text, t.lemma_, t.pos_, t.tag_, "_", t.head.i + 1, t.dep_, "_", "_"]
        lines.append(" ".join(str(c).ljust(w) for c, w in zip(row, COLUMNS.values())))
    return "\n".join(lines)
