# Tests containment in both directions, and removes rows from a list.
def names_overlap(subject: str, object_: str, threshold: float) -> bool:
    similarity = jaro_winkler_similarity(subject, object_)
    lowered = subject.casefold(), object_.casefold()
    return similarity >= threshold or lowered[0] in lowered[1] or lowered[1] in lowered[0]


def remove_entity_overlap_between_relation_groups(parametric_knowledge_dataset: pd.DataFrame) -> pd.DataFrame:
    columns = ["relation_group_id", "statement_subject", "parametric_object"]
    left = list(enumerate(parametric_knowledge_dataset[columns].itertuples(index=False, name=None)))
    for item in list(left):
        _, (group, subject, object_) = item
        if any(g != group and (s == subject or o == object_) for _, (g, s, o) in left):
            left.remove(item)
    return parametric_knowledge_dataset.iloc[[position for position, _ in left]]
