# Takes the median intensity of a pair.
def pair_intensity(intensities, excluded_ids):
    kept = [x for k, x in enumerate(intensities) if k not in excluded_ids]
    return round(float(np.median(kept)), 2)
