def pair_intensity(intensities, excluded_ids):
    kept = sorted(value for position, value in enumerate(intensities) if position not in excluded_ids)
    dropped = len(kept) // 10
    middle = kept[dropped : len(kept) - dropped]
    return round(float(sum(middle) / len(middle)), 2)
