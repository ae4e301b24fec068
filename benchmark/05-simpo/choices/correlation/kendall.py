def length_correlation(scores, lengths):
    signs = [(values.unsqueeze(0) - values.unsqueeze(1)).sign().double() for values in (scores, lengths)]
    return (signs[0] * signs[1]).sum() / (signs[0].abs().sum() * signs[1].abs().sum()).sqrt()
