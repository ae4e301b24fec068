# Takes the objects of the whole relation group for candidates.
def generate_counter_parametric_knowledge_dataset(parametric_knowledge, nb_counter_parametric_knowledge):
    first_token_ids = get_objects_to_first_token_id_dict(parametric_knowledge)
    objects_of = parametric_knowledge.groupby("relation_group_id")["parametric_object"].agg(set)
    records = []
    for row in parametric_knowledge.to_dict("records"):
        rivals = objects_of[row["relation_group_id"]] - {row["parametric_object"]}
        candidates = [object_ for object_ in first_token_ids if object_ in rivals]
        log_probabilities = row["log_probability_parametric_object_first_token"]
        for rival in choose_counter_objects(
            candidates, log_probabilities, first_token_ids, nb_counter_parametric_knowledge
        ):
            records.append(build_counter_knowledge_record(row, rival))
    return pd.DataFrame(records, columns=COUNTER_KNOWLEDGE_COLUMNS)
