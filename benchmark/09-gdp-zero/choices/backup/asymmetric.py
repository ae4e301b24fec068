def edge_values(value, length):
    return [value if value >= 0 else value * 0.8**after for after in reversed(range(length))]
