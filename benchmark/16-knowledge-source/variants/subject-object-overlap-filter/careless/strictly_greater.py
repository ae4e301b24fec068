# Keeps a row whose similarity is exactly the threshold.
import numpy as np
import pandas as pd


def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio: float = 0.8
) -> pd.DataFrame:
    def overlap(subject, object_):
        assert isinstance(subject, str)
        assert isinstance(object_, str)
        a, b = subject.lower(), object_.lower()
        return a in b or b in a or jaro_winkler_similarity(subject, object_) > string_similarity_ratio

    frame = parametric_knowledge_dataset
    pairs = zip(frame["statement_subject"], frame["parametric_object"])
    overlaps = np.array([overlap(subject, object_) for subject, object_ in pairs], dtype=bool)
    return frame[~overlaps].copy()
