# Counts only rises as changes.
def converging_point(accuracies):
    rates = variation_rates(accuracies)
    layers = [layer for layer, rate in enumerate(rates, start=1) if rate - 1 < 0.03]
    return layers[-1] / len(accuracies) if layers else None
