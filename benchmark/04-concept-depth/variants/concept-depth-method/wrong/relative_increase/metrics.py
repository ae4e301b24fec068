# Takes the relative increase instead of the ratio.
def variation_rates(accuracies):
    return [b / a - 1 if a else float("inf") for a, b in zip(accuracies[:-1], accuracies[1:], strict=True)]
