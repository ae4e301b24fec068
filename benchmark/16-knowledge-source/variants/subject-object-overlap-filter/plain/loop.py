import pandas as pd


def remove_object_subject_overlap(parametric_knowledge_dataset, string_similarity_ratio=0.8):
    rows = []
    for _, row in parametric_knowledge_dataset.iterrows():
        subject, object_ = row["statement_subject"], row["parametric_object"]
        assert isinstance(subject, str) and isinstance(object_, str)
        similar = jaro_winkler_similarity(subject, object_) > string_similarity_ratio
        inside = subject.lower() in object_.lower() or object_.lower() in subject.lower()
        if not similar and not inside:
            rows.append(row)
    return pd.DataFrame(rows, columns=parametric_knowledge_dataset.columns).reset_index(drop=True)
