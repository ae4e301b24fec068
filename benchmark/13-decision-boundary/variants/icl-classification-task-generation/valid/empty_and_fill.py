import numpy as np


def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type="linear", factor=0.5, class_sep=2):
    print(f"{num_tasks} x {num_samples_per_task}")
    X = np.empty((num_tasks, num_samples_per_task, num_dimensions), dtype=np.float64)
    Y = np.empty(X.shape[:2], dtype=np.float64)
    for offset, (x_slot, y_slot) in enumerate(zip(X, Y)):
        x_slot[:], y_slot[:] = generate_x_y(
            num_samples_per_task, num_dimensions, offset + seed, data_type, factor, class_sep
        )
    return X, Y
