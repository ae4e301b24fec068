def score(average, deviation):
    return average + deviation
