# Changes the kind with each insertion, not with each round.
def expand(steps, count):
    expanded = [[step] for step in steps]
    for extra in range(count - len(steps)):
        position = extra % len(steps)
        expanded[position].append(insertion(INSERTIONS[extra % len(INSERTIONS)], steps[position]))
    return [step for group in expanded for step in group]
