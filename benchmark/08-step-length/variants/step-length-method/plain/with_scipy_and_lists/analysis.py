# With SciPy.
from scipy.stats import linregress


def linear_trend(counts, accuracies):
    result = linregress(counts, accuracies)
    return float(result.slope), float(result.rvalue)
