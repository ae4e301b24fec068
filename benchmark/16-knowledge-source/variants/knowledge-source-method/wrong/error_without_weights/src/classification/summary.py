# Takes the ordinary standard error of the rates.
def standard_error(rates, sizes):
    return float(np.std(rates) / np.sqrt(len(rates)))
