def realization_limit(visits, constant):
    return constant + (int(visits) + 1).bit_length() - 1
