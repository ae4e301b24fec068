import pandas as pd


def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    def known(value):
        return None if pd.isna(value) else value

    frame = parametric_knowledge_dataset
    rows = [
        (group, known(subject), known(object_))
        for group, subject, object_ in zip(
            frame["relation_group_id"], frame["statement_subject"], frame["parametric_object"]
        )
    ]
    subjects, objects = {}, {}
    for group, subject, object_ in rows:
        subjects.setdefault(group, set()).add(subject)
        objects.setdefault(group, set()).add(object_)
    counts = {group: dict.fromkeys(subjects, 0) for group in subjects}
    for group, subject, object_ in rows:
        for other in subjects:
            if subject in subjects[other] or object_ in objects[other]:
                counts[group][other] += 1
    return counts
