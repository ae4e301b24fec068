# Draws one data set and cuts it into tasks.
import numpy as np


def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type="linear", factor=0.5, class_sep=2):
    total = num_tasks * num_samples_per_task
    if total == 0:
        X, Y = np.zeros((0, num_dimensions)), np.zeros(0)
    else:
        X, Y = generate_x_y(total, num_dimensions, seed, data_type=data_type, factor=factor, class_sep=class_sep)
    print(f"Generated {num_tasks} tasks with {num_samples_per_task} samples each")
    X = X.astype(np.float64).reshape(num_tasks, num_samples_per_task, num_dimensions)
    return X, Y.astype(np.float64).reshape(num_tasks, num_samples_per_task)
