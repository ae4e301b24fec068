# Each task of a set gets the same seed.
import numpy as np


def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type="linear", factor=0.5, class_sep=2):
    x, y = generate_x_y(num_samples_per_task, num_dimensions, seed, data_type, factor, class_sep)
    print(f"{num_tasks} {data_type} tasks of {num_samples_per_task} samples")
    return np.stack([x] * num_tasks), np.stack([y] * num_tasks).astype(np.float64)
