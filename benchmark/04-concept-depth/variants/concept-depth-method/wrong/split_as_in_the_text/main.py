# Holds out a fifth of the rows, as the text of the paper says first.
import numpy as np
from sklearn.model_selection import train_test_split


def split_rows(count):
    return tuple(train_test_split(np.arange(count), test_size=0.2, random_state=42))
