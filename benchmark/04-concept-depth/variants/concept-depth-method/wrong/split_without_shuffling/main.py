# Holds out the last rows.
import math

import numpy as np


def split_rows(count):
    rows = np.arange(count)
    held_out = math.ceil(0.4 * count)
    return rows[:-held_out], rows[-held_out:]
