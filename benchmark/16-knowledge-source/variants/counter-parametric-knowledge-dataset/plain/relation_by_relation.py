import numpy as np
import pandas as pd


def generate_counter_parametric_knowledge_dataset(parametric_knowledge, nb_counter_parametric_knowledge):
    records = []
    for _, row in parametric_knowledge.iterrows():
        relation = parametric_knowledge[parametric_knowledge["rel_lemma"] == row["rel_lemma"]]
        first_tokens = get_objects_to_first_token_id_dict(relation)
        candidates = [o for o in relation["parametric_object"].unique() if o != row["parametric_object"]]
        log_probs = np.array(row["log_probability_parametric_object_first_token"])
        order = np.argsort([log_probs[first_tokens[o]] for o in candidates])
        for index in order[:nb_counter_parametric_knowledge]:
            records.append(build_counter_knowledge_record(row, candidates[index]))
    return pd.DataFrame(records)
