# List comprehensions.
def variation_rates(accuracies):
    return [b / a if a > 0 else float("inf") for a, b in zip(accuracies, accuracies[1:])]


def jumping_point(accuracies):
    L = len(accuracies)
    for i, beta in enumerate(variation_rates(accuracies), start=1):
        if beta >= 1.1:
            return i / L
    return None


def converging_point(accuracies):
    L = len(accuracies)
    ok = [i / L for i, beta in enumerate(variation_rates(accuracies), start=1) if abs(beta - 1) < 0.03]
    return max(ok) if ok else None
