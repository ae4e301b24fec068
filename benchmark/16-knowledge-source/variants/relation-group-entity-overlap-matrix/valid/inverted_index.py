import pandas as pd


def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    columns = parametric_knowledge_dataset[["relation_group_id", "statement_subject", "parametric_object"]]
    rows = columns.astype(object).to_numpy().tolist()
    found_in = {}
    for group, *entities in rows:
        for role, entity in enumerate(entities):
            key = (role, pd.isna(entity), "" if pd.isna(entity) else entity)
            found_in.setdefault(key, set()).add(group)
    order = list(dict.fromkeys(group for group, *_ in rows))
    counts = {group: {other: 0 for other in order} for group in order}
    for group, *entities in rows:
        keys = [(role, pd.isna(entity), "" if pd.isna(entity) else entity) for role, entity in enumerate(entities)]
        for other in found_in[keys[0]] | found_in[keys[1]]:
            counts[group][other] += 1
    return counts
