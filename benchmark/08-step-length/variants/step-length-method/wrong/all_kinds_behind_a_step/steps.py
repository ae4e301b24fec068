# Uses all kinds behind the first step before it turns to the second one.
def expand(steps, count):
    expanded = [[step] for step in steps]
    for extra in range(count - len(steps)):
        position, kind = divmod(extra, len(INSERTIONS))
        expanded[position % len(steps)].append(insertion(INSERTIONS[kind], steps[position % len(steps)]))
    return [step for group in expanded for step in group]
