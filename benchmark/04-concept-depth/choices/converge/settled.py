def converging_point(accuracies):
    moving = [layer for layer, rate in enumerate(variation_rates(accuracies), start=1) if not abs(rate - 1) < 0.03]
    first = moving[-1] + 1 if moving else 1
    return first / len(accuracies) if first < len(accuracies) else None
