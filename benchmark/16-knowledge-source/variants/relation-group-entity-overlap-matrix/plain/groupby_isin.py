from collections import defaultdict


def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    frame = parametric_knowledge_dataset.copy()
    for column in ("statement_subject", "parametric_object"):
        frame[column] = frame[column].str.lower().str.strip()
    overlap = defaultdict(dict)
    for group, rows in frame.groupby("relation_group_id"):
        for other, other_rows in frame.groupby("relation_group_id"):
            shares_subject = rows["statement_subject"].isin(other_rows["statement_subject"])
            shares_object = rows["parametric_object"].isin(other_rows["parametric_object"])
            overlap[group][other] = (shares_subject | shares_object).sum()
    return overlap
