def remove_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    dataset = parametric_knowledge_dataset
    sizes = dataset.groupby("relation_group_id", sort=False).size()
    # Ranks from the smallest group to the largest; the sort is stable, so that ties keep the order of the table.
    ranks = {group: rank for rank, group in enumerate(sizes.sort_values(kind="stable").index)}
    rank = dataset["relation_group_id"].map(ranks)
    kept = [
        rank == rank.groupby(dataset[column]).transform("min") for column in ("statement_subject", "parametric_object")
    ]
    return dataset[kept[0] & kept[1]]
