def choose_counter_objects(candidates, log_probabilities, first_token_ids, count):
    return sorted(candidates, key=lambda object_: -log_probabilities[first_token_ids[object_]])[:count]
