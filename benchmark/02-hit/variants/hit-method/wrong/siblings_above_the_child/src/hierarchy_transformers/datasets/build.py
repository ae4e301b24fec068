# Takes siblings as hard negatives even if they are above the child.
def negative_candidates(taxonomy, child):
    above = taxonomy.ancestors(child) | {child}
    return [e for e in taxonomy.entities if e not in above], sorted(taxonomy.siblings(child))
