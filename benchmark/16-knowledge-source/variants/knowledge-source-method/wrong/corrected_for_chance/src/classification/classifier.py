# Corrects the success rate for chance.
def success_rate(predicted, targets):
    return float(2 * (predicted == targets).mean() - 1)
