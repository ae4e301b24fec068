import pandas as pd


def remove_object_subject_overlap(parametric_knowledge_dataset, string_similarity_ratio=0.8):
    def keep(row):
        subject, object_ = row["statement_subject"].lower(), row["parametric_object"].lower()
        if subject in object_ or object_ in subject:
            return False
        return jaro_winkler_similarity(subject, object_) < string_similarity_ratio

    return parametric_knowledge_dataset[parametric_knowledge_dataset.apply(keep, axis=1)]
