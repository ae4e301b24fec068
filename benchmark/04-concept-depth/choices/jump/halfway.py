def jumping_point(accuracies):
    peak = max(accuracies)
    if peak <= accuracies[0]:
        return None
    middle = (accuracies[0] + peak) / 2
    return next(layer for layer, accuracy in enumerate(accuracies) if accuracy >= middle) / len(accuracies)
