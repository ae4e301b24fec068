# Changes the sign from edge to edge, as in games of two players.
def edge_values(value, length):
    return [value * (-1) ** (length - 1 - index) for index in range(length)]
