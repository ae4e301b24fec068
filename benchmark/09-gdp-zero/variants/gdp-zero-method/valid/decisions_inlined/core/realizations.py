# The mean of a wording's values as a running one.
def wording_score(values):
    mean = 0.0
    for number, value in enumerate(values, start=1):
        mean += (value - mean) / number
    return mean
