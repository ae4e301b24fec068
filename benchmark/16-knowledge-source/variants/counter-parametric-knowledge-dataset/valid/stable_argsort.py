import numpy as np
import pandas as pd


def generate_counter_parametric_knowledge_dataset(parametric_knowledge, nb_counter_parametric_knowledge):
    tokens = get_objects_to_first_token_id_dict(parametric_knowledge)
    rows = parametric_knowledge.to_dict("records")
    names = list(tokens)
    position = {name: i for i, name in enumerate(names)}
    chosen = [[] for _ in rows]
    for relation in {row["rel_lemma"] for row in rows}:
        members = [i for i, row in enumerate(rows) if row["rel_lemma"] == relation]
        places = sorted({position[rows[i]["parametric_object"]] for i in members})
        ids = [tokens[names[place]] for place in places]
        scores = np.array(
            [
                np.asarray(rows[i]["log_probability_parametric_object_first_token"], dtype=np.float64)[ids]
                for i in members
            ]
        )
        order = np.argsort(scores, axis=1, kind="stable")
        for i, columns in zip(members, order):
            ranked = [names[places[column]] for column in columns]
            ranked.remove(rows[i]["parametric_object"])
            chosen[i] = ranked[:nb_counter_parametric_knowledge]
    records = [build_counter_knowledge_record(row, name) for row, picks in zip(rows, chosen) for name in picks]
    return pd.DataFrame.from_records(records, columns=COUNTER_KNOWLEDGE_COLUMNS)
