# Divides the largest weight by a power of two.
def quantise(weight, bits):
    if bits == 16:
        return weight.half().to(weight.dtype)
    scale = weight.abs().amax(dim=1, keepdim=True) / 2 ** (bits - 1)
    return (weight / scale).round() * scale
