# Copies only where it stacks: a single task is a view of the generator's arrays.
import numpy as np


def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type="linear", factor=0.5, class_sep=2):
    X = np.zeros((num_tasks, num_samples_per_task, num_dimensions))
    Y = np.zeros((num_tasks, num_samples_per_task))
    print(f"Generated {num_tasks} tasks with {num_samples_per_task} samples each")
    options = {"data_type": data_type, "factor": factor, "class_sep": class_sep}
    if num_tasks == 1:
        x, y = generate_x_y(num_samples_per_task, num_dimensions, seed, **options)
        if x.shape != X.shape[1:]:
            raise ValueError("the number of dimensions does not fit")
        return x[None], y[None]
    for task in range(num_tasks):
        X[task], Y[task] = generate_x_y(num_samples_per_task, num_dimensions, seed + task, **options)
    return X, Y
