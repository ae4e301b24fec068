def remove_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    dataset = parametric_knowledge_dataset
    owners = {}
    kept = []
    for group, subject, object_ in dataset[["relation_group_id", "statement_subject", "parametric_object"]].itertuples(
        index=False
    ):
        keys = [("subject", subject), ("object", object_)]
        is_kept = all(owners.get(key, group) == group for key in keys)
        if is_kept:
            owners.update((key, group) for key in keys)
        kept.append(is_kept)
    return dataset[kept]
