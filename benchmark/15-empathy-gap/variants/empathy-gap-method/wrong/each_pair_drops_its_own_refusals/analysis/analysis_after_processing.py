# Drops the refusals of each pair from its own mean, so that pairs are compared on different events.
def get_excluded_id_set_no_default(group_option, prompt_variation, model_id):
    return set()


def pair_intensity(intensities, excluded_ids):
    kept = [x for k, x in enumerate(intensities) if k not in excluded_ids and x != REFUSAL]
    return round(sum(kept) / len(kept), 2)
