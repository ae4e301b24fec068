# Each step in names of its own.
def negative_candidates(taxonomy, child):
    ancestors = taxonomy.ancestors(child)
    siblings = taxonomy.siblings(child)
    candidates = []
    hard_candidates = []
    for entity in taxonomy.entities:
        if entity == child or entity in ancestors:
            continue
        candidates.append(entity)
        if entity in siblings:
            hard_candidates.append(entity)
    return sorted(candidates), sorted(hard_candidates)
