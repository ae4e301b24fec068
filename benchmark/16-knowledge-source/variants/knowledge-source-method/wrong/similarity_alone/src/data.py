# Leaves out the containment of one name in the other.
def names_overlap(subject, object_, threshold):
    return jaro_winkler_similarity(subject, object_) >= threshold
