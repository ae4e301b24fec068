def poincare_ball(embed_dim):
    return PoincareBall(c=1 / (2 * embed_dim))
