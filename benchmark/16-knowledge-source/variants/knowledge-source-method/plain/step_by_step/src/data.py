# Another style: a row at a time, with names for every step.
def names_overlap(subject: str, object_: str, threshold: float) -> bool:
    lower_subject = subject.lower()
    lower_object = object_.lower()
    if lower_subject in lower_object:
        return True
    if lower_object in lower_subject:
        return True
    return jaro_winkler_similarity(subject, object_) >= threshold


def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio: float = 0.8
) -> pd.DataFrame:
    positions = []
    for position in range(len(parametric_knowledge_dataset)):
        row = parametric_knowledge_dataset.iloc[position]
        if not names_overlap(row["statement_subject"], row["parametric_object"], string_similarity_ratio):
            positions.append(position)
    return parametric_knowledge_dataset.iloc[positions].copy()


def remove_entity_overlap_between_relation_groups(parametric_knowledge_dataset: pd.DataFrame) -> pd.DataFrame:
    remaining = parametric_knowledge_dataset.copy()
    for label in parametric_knowledge_dataset.index:
        row = remaining.loc[label]
        others = remaining[remaining["relation_group_id"] != row["relation_group_id"]]
        same_subject = (others["statement_subject"] == row["statement_subject"]).any()
        same_object = (others["parametric_object"] == row["parametric_object"]).any()
        if same_subject or same_object:
            remaining = remaining.drop(label)
    return remaining


def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset: pd.DataFrame):
    subjects: dict = {}
    objects: dict = {}
    rows = parametric_knowledge_dataset[["relation_group_id", "statement_subject", "parametric_object"]].values.tolist()
    for group, subject, object_ in rows:
        subjects.setdefault(group, set()).add(subject)
        objects.setdefault(group, set()).add(object_)
    overlap = {group: {other: 0 for other in subjects} for group in subjects}
    for group, subject, object_ in rows:
        for other in subjects:
            if subject in subjects[other] or object_ in objects[other]:
                overlap[group][other] += 1
    return overlap


def choose_counter_objects(candidates, log_probabilities, first_token_ids, count):
    scored = []
    for position, candidate in enumerate(candidates):
        scored.append((log_probabilities[first_token_ids[candidate]], position, candidate))
    scored.sort()
    return [candidate for _, _, candidate in scored][:count]


def generate_counter_parametric_knowledge_dataset(
    parametric_knowledge: pd.DataFrame, nb_counter_parametric_knowledge: int
) -> pd.DataFrame:
    first_tokens = get_objects_to_first_token_id_dict(parametric_knowledge)
    all_rows = parametric_knowledge.to_dict("records")
    records = []
    for row in all_rows:
        relation_objects = {other["parametric_object"] for other in all_rows if other["rel_lemma"] == row["rel_lemma"]}
        candidates = []
        for object_ in first_tokens:
            if object_ in relation_objects and object_ != row["parametric_object"]:
                candidates.append(object_)
        chosen = choose_counter_objects(
            candidates,
            row["log_probability_parametric_object_first_token"],
            first_tokens,
            nb_counter_parametric_knowledge,
        )
        records.extend(build_counter_knowledge_record(row, object_) for object_ in chosen)
    return pd.DataFrame(records, columns=COUNTER_KNOWLEDGE_COLUMNS)
