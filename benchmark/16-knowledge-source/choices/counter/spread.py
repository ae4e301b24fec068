def choose_counter_objects(candidates, log_probabilities, first_token_ids, count):
    ranked = sorted(candidates, key=lambda object_: log_probabilities[first_token_ids[object_]])
    if len(ranked) <= count or count < 2:
        return ranked[:count]
    return [ranked[i * (len(ranked) - 1) // (count - 1)] for i in range(count)]
