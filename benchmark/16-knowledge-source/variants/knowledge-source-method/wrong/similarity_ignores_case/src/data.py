# Lower-cases the names for the similarity, too.
def names_overlap(subject, object_, threshold):
    s, o = subject.lower(), object_.lower()
    return s in o or o in s or jaro_winkler_similarity(s, o) >= threshold
