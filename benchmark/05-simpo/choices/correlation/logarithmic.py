def length_correlation(scores, lengths):
    centred = [values.double() - values.double().mean() for values in (scores, lengths.log())]
    covariance = (centred[0] * centred[1]).sum()
    return covariance / (centred[0].square().sum() * centred[1].square().sum()).sqrt()
