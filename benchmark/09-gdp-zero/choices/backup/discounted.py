def edge_values(value, length):
    return [value * 0.9**after for after in reversed(range(length))]
