import os


def names_overlap(subject, object_, threshold):
    names = [subject.lower(), object_.lower()]
    shared = len(os.path.commonprefix(names))
    return shared / min(map(len, names)) >= threshold
