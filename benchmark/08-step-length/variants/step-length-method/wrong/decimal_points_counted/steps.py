# Counts all full stops, decimal points included.
def count_steps(rationale):
    return sum(rationale.count(mark) for mark in ".!?")
