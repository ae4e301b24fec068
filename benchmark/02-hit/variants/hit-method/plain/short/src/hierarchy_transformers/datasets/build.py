# As short as it goes.
def negative_candidates(taxonomy, child):
    above = taxonomy.ancestors(child)
    allowed = [e for e in taxonomy.entities if e != child and e not in above]
    return allowed, [e for e in allowed if e in taxonomy.siblings(child)]
