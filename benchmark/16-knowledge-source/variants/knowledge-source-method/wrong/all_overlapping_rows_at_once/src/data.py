# Removes every row that overlaps, so that both sides of an overlap go.
def remove_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    df = parametric_knowledge_dataset
    groups_of = {
        column: df.groupby(column)["relation_group_id"].agg(set)
        for column in ("statement_subject", "parametric_object")
    }
    keep = [
        all(len(groups_of[column][entity]) == 1 for column, entity in zip(groups_of, pair))
        for pair in zip(df["statement_subject"], df["parametric_object"])
    ]
    return df[keep]
