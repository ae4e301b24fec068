# The unit ball, whatever the dimension.
def poincare_ball(embed_dim):
    return PoincareBall(1.0)
