def poincare_ball(embed_dim):
    return PoincareBall(c=1 / (4 * embed_dim))
