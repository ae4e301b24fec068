# Takes the radius for the curvature.
def poincare_ball(embed_dim):
    return PoincareBall(1 / embed_dim**0.5)
