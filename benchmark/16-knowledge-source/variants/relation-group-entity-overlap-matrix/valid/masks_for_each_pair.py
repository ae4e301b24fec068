import numpy as np


def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    frame = parametric_knowledge_dataset.reset_index(drop=True)
    groups = list(dict.fromkeys(frame["relation_group_id"].tolist()))
    member = {group: (frame["relation_group_id"] == group).to_numpy(dtype=bool) for group in groups}
    result = {}
    for g in groups:
        result[g] = {}
        for h in groups:
            shared = np.zeros(len(frame), dtype=bool)
            for column in ("statement_subject", "parametric_object"):
                shared |= frame[column].isin(frame.loc[member[h], column].unique()).to_numpy(dtype=bool)
            result[g][h] = np.count_nonzero(shared & member[g])
    return result
