# Takes 1.96 standard deviations around the mean.
def chance_interval(scores):
    mean, deviation = np.mean(scores), np.std(scores)
    return float(mean - 1.96 * deviation), float(mean + 1.96 * deviation)
