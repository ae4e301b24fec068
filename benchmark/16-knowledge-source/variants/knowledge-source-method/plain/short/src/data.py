# Short code, as the paper tells it.
def names_overlap(subject, object_, threshold):
    s, o = subject.lower(), object_.lower()
    return s in o or o in s or jaro_winkler_similarity(subject, object_) >= threshold


def remove_object_subject_overlap(parametric_knowledge_dataset, string_similarity_ratio=0.8):
    df = parametric_knowledge_dataset
    keep = [
        not names_overlap(s, o, string_similarity_ratio)
        for s, o in zip(df["statement_subject"], df["parametric_object"])
    ]
    return df[keep]


def remove_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    df = parametric_knowledge_dataset
    removed = set()
    rows = list(zip(df["relation_group_id"], df["statement_subject"], df["parametric_object"]))
    for i, (g, s, o) in enumerate(rows):
        for j, (g2, s2, o2) in enumerate(rows):
            if j not in removed and g2 != g and (s == s2 or o == o2):
                removed.add(i)
                break
    return df.iloc[[i for i in range(len(rows)) if i not in removed]]


def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    df = parametric_knowledge_dataset
    out = {}
    for g in df["relation_group_id"].unique():
        out[g] = {}
        a = df[df["relation_group_id"] == g]
        for h in df["relation_group_id"].unique():
            b = df[df["relation_group_id"] == h]
            hit = a["statement_subject"].isin(b["statement_subject"]) | a["parametric_object"].isin(
                b["parametric_object"]
            )
            out[g][h] = int(hit.sum())
    return out


def choose_counter_objects(candidates, log_probabilities, first_token_ids, count):
    return sorted(candidates, key=lambda o: log_probabilities[first_token_ids[o]])[:count]


def generate_counter_parametric_knowledge_dataset(parametric_knowledge, nb_counter_parametric_knowledge):
    ids = get_objects_to_first_token_id_dict(parametric_knowledge)
    records = []
    for _, row in parametric_knowledge.iterrows():
        same = set(parametric_knowledge[parametric_knowledge["rel_lemma"] == row["rel_lemma"]]["parametric_object"])
        candidates = [o for o in ids if o in same and o != row["parametric_object"]]
        for o in choose_counter_objects(
            candidates, row["log_probability_parametric_object_first_token"], ids, nb_counter_parametric_knowledge
        ):
            records.append(build_counter_knowledge_record(row, o))
    return pd.DataFrame(records, columns=COUNTER_KNOWLEDGE_COLUMNS)
