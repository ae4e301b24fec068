# Walks over the layers.
import numpy as np


def variation_rates(accuracies):
    rates = []
    for layer in range(1, len(accuracies)):
        before = accuracies[layer - 1]
        rates.append(float(accuracies[layer] / before) if before > 0 else np.inf)
    return rates


def jumping_point(accuracies):
    return next((i / len(accuracies) for i, b in enumerate(variation_rates(accuracies), 1) if b >= 1.1), None)


def converging_point(accuracies):
    rates = variation_rates(accuracies)
    for layer in range(len(rates), 0, -1):
        if 0.97 < rates[layer - 1] < 1.03:
            return layer / len(accuracies)
    return None
