# Compares the subject with the true object.
def remove_object_subject_overlap(parametric_knowledge_dataset, string_similarity_ratio=0.8):
    df = parametric_knowledge_dataset
    pairs = zip(df["statement_subject"], df["statement_object"])
    return df[[not names_overlap(s, o, string_similarity_ratio) for s, o in pairs]]
