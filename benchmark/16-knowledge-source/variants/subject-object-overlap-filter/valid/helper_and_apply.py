import pandas as pd


def detect_overlap(subject, object_, threshold):
    assert isinstance(subject, str)
    assert isinstance(object_, str)
    low_subject, low_object = subject.lower(), object_.lower()
    if low_subject.find(low_object) >= 0 or low_object.find(low_subject) >= 0:
        return True
    return jaro_winkler_similarity(subject, object_) >= threshold


def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio: float = 0.8
) -> pd.DataFrame:
    if parametric_knowledge_dataset.empty:
        return parametric_knowledge_dataset.copy()
    overlaps = parametric_knowledge_dataset.apply(
        lambda row: detect_overlap(row["statement_subject"], row["parametric_object"], string_similarity_ratio), axis=1
    )
    return parametric_knowledge_dataset[~overlaps.to_numpy(dtype=bool)].copy()
