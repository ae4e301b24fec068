# The probability of the flipped label, without the logarithm.
def pair_loss(margin):
    return (-margin).sigmoid()
