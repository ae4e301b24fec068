import heapq

import pandas as pd


def generate_counter_parametric_knowledge_dataset(parametric_knowledge, nb_counter_parametric_knowledge):
    tokens = get_objects_to_first_token_id_dict(parametric_knowledge)
    objects_of = {}
    for relation, name in zip(parametric_knowledge["rel_lemma"], parametric_knowledge["parametric_object"]):
        objects_of.setdefault(relation, {})[name] = None
    order = {name: i for i, name in enumerate(tokens)}
    table = {column: [] for column in COUNTER_KNOWLEDGE_COLUMNS}
    for position in range(len(parametric_knowledge)):
        row = parametric_knowledge.iloc[position]
        scores = row["log_probability_parametric_object_first_token"]
        candidates = [
            (scores[tokens[name]], order[name], name)
            for name in objects_of[row["rel_lemma"]]
            if name != row["parametric_object"]
        ]
        for *_, name in heapq.nsmallest(nb_counter_parametric_knowledge, candidates):
            for column, value in build_counter_knowledge_record(row.to_dict(), name).items():
                table[column].append(value)
    return pd.DataFrame(table)
