# Moves the last window back, so that it has its full size.
def window_starts(length, size, step):
    starts = [0]
    while starts[-1] + size < length:
        starts.append(min(starts[-1] + step, length - size))
    return starts
