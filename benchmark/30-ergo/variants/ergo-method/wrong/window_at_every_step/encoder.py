# Opens windows as long as a start lies in the document.
def window_starts(length, size, step):
    return list(range(0, length, step))
