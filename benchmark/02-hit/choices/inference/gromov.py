def subsumption_score(manifold, child, parent, norm_weight):
    parent_norm = manifold.dist0(parent)
    shared = (manifold.dist0(child) + parent_norm - manifold.dist(child, parent)) / 2
    return shared - norm_weight * parent_norm
