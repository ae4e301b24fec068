# Takes the positions of excluded events for ids of the corpus.
def pair_intensity(intensities, excluded_ids):
    kept = intensities[~intensities.index.isin(list(excluded_ids))]
    return round(float(kept.mean()), 2)
