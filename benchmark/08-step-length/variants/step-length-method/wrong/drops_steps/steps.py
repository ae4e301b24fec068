# Leaves steps out instead of merging them.
def compress(steps, count):
    return [group[0] for group in even_groups(steps, count)]
