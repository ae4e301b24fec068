def names_overlap(subject, object_, threshold):
    first, second = ({name[i : i + 2] for i in range(len(name) - 1)} for name in (subject.lower(), object_.lower()))
    return 2 * len(first & second) / (len(first) + len(second)) >= threshold
