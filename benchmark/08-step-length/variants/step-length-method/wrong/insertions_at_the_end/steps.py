# Puts all insertions behind the last step.
def expand(steps, count):
    added = []
    for extra in range(count - len(steps)):
        turn, position = divmod(extra, len(steps))
        added.append(insertion(INSERTIONS[turn % len(INSERTIONS)], steps[position]))
    return [*steps, *added]
