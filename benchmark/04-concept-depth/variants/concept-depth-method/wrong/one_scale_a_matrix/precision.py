# Uses one scale for the whole matrix.
def quantise(weight, bits):
    if bits == 16:
        return weight.half().to(weight.dtype)
    scale = weight.abs().max() / (2 ** (bits - 1) - 1)
    return (weight / scale).round() * scale
