import pandas as pd
import torch


def generate_counter_parametric_knowledge_dataset(parametric_knowledge, nb_counter_parametric_knowledge):
    token_of = get_objects_to_first_token_id_dict(parametric_knowledge)
    frames = []
    for row in parametric_knowledge.to_dict(orient="records"):
        same_relation = parametric_knowledge.query("rel_lemma == @row['rel_lemma']")
        candidates = sorted(set(same_relation["parametric_object"]) - {row["parametric_object"]})
        if not candidates:
            continue
        scores = torch.tensor(row["log_probability_parametric_object_first_token"])[[token_of[c] for c in candidates]]
        k = min(nb_counter_parametric_knowledge, len(candidates))
        chosen = torch.topk(scores, k, largest=False).indices
        frames.append(pd.DataFrame([build_counter_knowledge_record(row, candidates[i]) for i in chosen]))
    return pd.concat(frames)
