# Scales with the square root of the batch size.
def peak_rate(reference_rate, batch_size):
    return reference_rate * (batch_size / 256) ** 0.5
