# Names the first layer at which the accuracy stays the same.
def converging_point(accuracies):
    rates = variation_rates(accuracies)
    layers = [layer for layer, rate in enumerate(rates, start=1) if abs(rate - 1) < 0.03]
    return layers[0] / len(accuracies) if layers else None
