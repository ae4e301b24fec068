# Stores the features in single precision.
import numpy as np


def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type="linear", factor=0.5, class_sep=2):
    X = np.zeros((num_tasks, num_samples_per_task, num_dimensions), dtype=np.float32)
    Y = np.zeros((num_tasks, num_samples_per_task))
    for task in range(num_tasks):
        x, y = generate_x_y(
            num_samples=num_samples_per_task,
            num_dimensions=num_dimensions,
            seed=seed + task,
            data_type=data_type,
            factor=factor,
            class_sep=class_sep,
        )
        X[task] = x
        Y[task] = y
    print(f"Generated {num_tasks} tasks with {num_samples_per_task} samples each")
    return X, Y
