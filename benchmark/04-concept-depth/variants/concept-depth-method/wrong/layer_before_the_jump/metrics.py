# Names the layer before the jump.
def jumping_point(accuracies):
    layers = [layer for layer, rate in enumerate(variation_rates(accuracies)) if rate >= 1.1]
    return layers[0] / len(accuracies) if layers else None
