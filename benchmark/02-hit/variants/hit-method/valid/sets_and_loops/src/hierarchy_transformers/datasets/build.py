# Sets of entities.
def negative_candidates(taxonomy, child):
    candidates = set(taxonomy.entities) - taxonomy.ancestors(child) - {child}
    return sorted(candidates), sorted(candidates & taxonomy.siblings(child))
