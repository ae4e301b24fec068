def converging_point(accuracies):
    enough = 0.97 * max(accuracies)
    return next(layer for layer, accuracy in enumerate(accuracies) if accuracy >= enough) / len(accuracies)
