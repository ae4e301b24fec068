# The difference of norms has the other sign.
def subsumption_score(manifold, child, parent, norm_weight):
    return -(manifold.dist(child, parent) + norm_weight * (manifold.dist0(child) - manifold.dist0(parent)))
