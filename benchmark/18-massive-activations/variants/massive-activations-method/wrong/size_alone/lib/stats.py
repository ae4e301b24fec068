# Asks for the size only.
def massive_mask(magnitudes):
    return magnitudes > 100.0
