def spacy_result_to_conll(sentence):
    tokens = [token for token in load_pipeline()(sentence) if not token.is_space]
    numbers = {id(token): number for number, token in enumerate(tokens, start=1)}

    def row(cells):
        return "".join(f"{cell:<{width + 1}.{width}}" for cell, width in zip(cells, COLUMNS.values()))

    table = [row(COLUMNS)]
    for t in tokens:
        head = str(numbers.get(id(t.head), 0))
        table.append(row([str(numbers[id(t)]), t.text, t.lemma_, t.pos_, t.tag_, UNUSED, head, t.dep_, UNUSED, UNUSED]))
    return "\n".join(table) + "\n"
