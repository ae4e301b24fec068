# Looks first tokens up among the rows of the relation only.
import pandas as pd


def generate_counter_parametric_knowledge_dataset(parametric_knowledge, nb_counter_parametric_knowledge):
    first_token = get_objects_to_first_token_id_dict(parametric_knowledge)
    records = []
    for row in parametric_knowledge.to_dict("records"):
        same = parametric_knowledge[parametric_knowledge["rel_lemma"] == row["rel_lemma"]]
        objects = set(same["parametric_object"])
        first_token = get_objects_to_first_token_id_dict(same)
        candidates = [name for name in first_token if name in objects and name != row["parametric_object"]]
        scores = row["log_probability_parametric_object_first_token"]
        candidates.sort(key=lambda name: scores[first_token[name]])
        for name in candidates[:nb_counter_parametric_knowledge]:
            records.append(build_counter_knowledge_record(row, name))
    return pd.DataFrame(records, columns=COUNTER_KNOWLEDGE_COLUMNS)
