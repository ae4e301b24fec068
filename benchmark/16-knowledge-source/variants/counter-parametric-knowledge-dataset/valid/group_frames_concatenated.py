import pandas as pd


def generate_counter_parametric_knowledge_dataset(parametric_knowledge, nb_counter_parametric_knowledge):
    frame = parametric_knowledge.reset_index(drop=True)
    tokens = get_objects_to_first_token_id_dict(frame)
    parts = [pd.DataFrame(columns=COUNTER_KNOWLEDGE_COLUMNS, dtype=object)]
    for position, row in frame.iterrows():
        same = frame[frame["rel_lemma"] == row["rel_lemma"]]
        rivals = set(same["parametric_object"]).difference([row["parametric_object"]])
        rivals = pd.Series([name for name in tokens if name in rivals], dtype=object)
        scores = rivals.map(lambda name: float(row["log_probability_parametric_object_first_token"][tokens[name]]))
        best = scores.astype(float).sort_values(kind="stable").index[:nb_counter_parametric_knowledge]
        parts += [pd.DataFrame([build_counter_knowledge_record(row, rivals[i])]) for i in best]
    return pd.concat(parts[1:] or parts, ignore_index=True)
