import pandas as pd


def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio: float = 0.8
) -> pd.DataFrame:
    frame = parametric_knowledge_dataset
    kept = []
    for position in range(len(frame)):
        subject = frame["statement_subject"].iloc[position]
        object_ = frame["parametric_object"].iloc[position]
        if not isinstance(subject, str) or not isinstance(object_, str):
            raise AssertionError("subject and object must be strings")
        if subject.lower() in object_.lower() or object_.lower() in subject.lower():
            continue
        if jaro_winkler_similarity(subject, object_) < string_similarity_ratio:
            kept.append(position)
    return frame.take(kept).copy()
