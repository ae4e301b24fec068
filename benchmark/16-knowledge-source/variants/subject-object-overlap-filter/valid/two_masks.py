import numpy as np
import pandas as pd


def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio: float = 0.8
) -> pd.DataFrame:
    columns = parametric_knowledge_dataset[["statement_subject", "parametric_object"]]
    pairs = [tuple(row) for row in columns.astype(object).to_numpy()]
    assert all(isinstance(text, str) for pair in pairs for text in pair)
    lowered = [(subject.lower(), object_.lower()) for subject, object_ in pairs]
    contained = np.array([a in b or b in a for a, b in lowered], dtype=bool)
    similarity = np.array([jaro_winkler_similarity(a, b) for a, b in pairs], dtype=float)
    return parametric_knowledge_dataset.loc[~(contained | (similarity >= string_similarity_ratio))].copy()
