# Discounts the value by the distance of an edge from the end of the path.
def edge_values(value, length):
    return [value * 0.99 ** (length - 1 - index) for index in range(length)]
