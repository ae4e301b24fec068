# As short as it goes.
def criss_cross_mask(pairs):
    a, b = pairs[:, 0], pairs[:, 1]
    eq = lambda x, y: x[:, None] == y[None, :]
    return eq(a, a) | eq(a, b) | eq(b, a) | eq(b, b)
