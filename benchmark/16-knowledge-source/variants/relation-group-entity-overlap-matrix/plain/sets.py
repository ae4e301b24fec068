def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    groups = sorted(set(parametric_knowledge_dataset["relation_group_id"]))
    overlap = {}
    for first in groups:
        overlap[first] = {}
        rows = parametric_knowledge_dataset[parametric_knowledge_dataset["relation_group_id"] == first]
        for second in groups:
            others = parametric_knowledge_dataset[parametric_knowledge_dataset["relation_group_id"] == second]
            subjects, objects = set(others["statement_subject"]), set(others["parametric_object"])
            count = 0
            for _, row in rows.iterrows():
                if row["statement_subject"] in subjects or row["parametric_object"] in objects:
                    count += 1
            overlap[first][second] = count
    return overlap
