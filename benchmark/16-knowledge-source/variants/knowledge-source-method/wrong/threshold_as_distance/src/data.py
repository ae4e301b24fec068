# Takes the threshold for a distance.
def names_overlap(subject, object_, threshold):
    s, o = subject.lower(), object_.lower()
    return s in o or o in s or 1 - jaro_winkler_similarity(subject, object_) <= threshold
