import pandas as pd


def generate_counter_parametric_knowledge_dataset(parametric_knowledge, nb_counter_parametric_knowledge):
    tokens = get_objects_to_first_token_id_dict(parametric_knowledge)
    rank = {name: place for place, name in enumerate(tokens)}
    records = []
    for _, row in parametric_knowledge.iterrows():
        mask = (parametric_knowledge["rel_lemma"] == row["rel_lemma"]).to_numpy()
        candidates = set(parametric_knowledge["parametric_object"].to_numpy()[mask])
        candidates.discard(row["parametric_object"])
        scores = row["log_probability_parametric_object_first_token"]
        order = sorted(candidates, key=lambda name: (scores[tokens[name]], rank[name]))
        for name in order[:nb_counter_parametric_knowledge]:
            records.append(build_counter_knowledge_record(row, name))
    if not records:
        return pd.DataFrame(columns=COUNTER_KNOWLEDGE_COLUMNS)
    return pd.DataFrame(records)
