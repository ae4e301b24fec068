# Lets missing values match nothing.
import pandas as pd


def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    frame = parametric_knowledge_dataset
    groups = frame["relation_group_id"].unique().tolist()
    counts = {}
    for g in groups:
        rows = frame[frame["relation_group_id"] == g]
        counts[g] = {}
        for h in groups:
            others = frame[frame["relation_group_id"] == h]
            same_subject = rows["statement_subject"].isin(others["statement_subject"])
            same_object = rows["parametric_object"].isin(others["parametric_object"])
            same_subject &= rows["statement_subject"].notna()
            same_object &= rows["parametric_object"].notna()
            counts[g][h] = int((same_subject | same_object).sum())
    return counts
