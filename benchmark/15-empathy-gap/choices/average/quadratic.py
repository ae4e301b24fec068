import math


def pair_intensity(intensities, excluded_ids):
    kept = [float(value) for position, value in enumerate(intensities) if position not in excluded_ids]
    return round(math.sqrt(sum(value**2 for value in kept) / len(kept)), 2)
