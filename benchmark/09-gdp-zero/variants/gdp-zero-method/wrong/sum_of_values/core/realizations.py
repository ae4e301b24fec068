# Adds the values of a wording up instead of averaging them.
def wording_score(values):
    return sum(values)
