# Counts the entities that two groups share.
def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    groups = dict(list(parametric_knowledge_dataset.groupby("relation_group_id", sort=False)))
    return {
        g: {
            h: sum(len(set(a[column]) & set(b[column])) for column in ("statement_subject", "parametric_object"))
            for h, b in groups.items()
        }
        for g, a in groups.items()
    }
