# Excludes parents, but not the ancestors above them.
def negative_candidates(taxonomy, child):
    above = taxonomy.parents[child] | {child}
    candidates = [e for e in taxonomy.entities if e not in above]
    return candidates, [e for e in candidates if e in taxonomy.siblings(child)]
