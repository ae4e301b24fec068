import numpy as np


def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type="linear", factor=0.5, class_sep=2):
    X, Y = [], []
    for i in range(num_tasks):
        x, y = generate_x_y(num_samples_per_task, num_dimensions, seed + i, data_type, factor, class_sep)
        X.append(x)
        Y.append(y)
    return np.array(X), np.array(Y, dtype=np.float64)
