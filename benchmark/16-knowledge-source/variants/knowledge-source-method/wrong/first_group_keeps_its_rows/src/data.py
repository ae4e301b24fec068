# Removes a row only if it overlaps with a row above it.
def remove_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    df = parametric_knowledge_dataset
    kept = []
    rows = list(zip(df["relation_group_id"], df["statement_subject"], df["parametric_object"]))
    for i, (g, s, o) in enumerate(rows):
        if not any(rows[j][0] != g and (rows[j][1] == s or rows[j][2] == o) for j in kept):
            kept.append(i)
    return df.iloc[kept]
