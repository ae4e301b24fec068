# Signs as the paper writes them.
def subsumption_score(manifold, child, parent, norm_weight):
    return -(manifold.dist(parent, child) + norm_weight * (manifold.dist0(parent) - manifold.dist0(child)))
