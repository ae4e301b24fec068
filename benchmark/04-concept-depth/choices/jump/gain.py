def jumping_point(accuracies):
    gains = [after - before for before, after in zip(accuracies[:-1], accuracies[1:], strict=True)]
    if not gains or max(gains) <= 0:
        return None
    return (gains.index(max(gains)) + 1) / len(accuracies)
