import numpy as np
import pandas as pd


def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    frame = parametric_knowledge_dataset
    codes, groups = pd.factorize(frame["relation_group_id"].astype(object))
    n = len(frame)
    hits = np.zeros((n, len(groups)), dtype=bool)
    for column in ("statement_subject", "parametric_object"):
        entities = pd.factorize(frame[column].astype(object), use_na_sentinel=False)[0]
        holds = np.zeros((entities.max(initial=-1) + 1, len(groups)), dtype=bool)
        holds[entities, codes] = True
        hits |= holds[entities]
    belongs = np.zeros((n, len(groups)), dtype=np.int64)
    belongs[np.arange(n), codes] = 1
    counts = belongs.T @ hits.astype(np.int64)
    return {g: {h: int(counts[i, j]) for j, h in enumerate(groups)} for i, g in enumerate(groups)}
