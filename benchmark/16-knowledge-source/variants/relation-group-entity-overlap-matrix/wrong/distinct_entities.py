# Counts distinct shared entities instead of rows.
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
            counts[g][h] = sum(
                len(set(rows[name].fillna("")) & set(others[name].fillna("")))
                for name in ("statement_subject", "parametric_object")
            )
    return counts
