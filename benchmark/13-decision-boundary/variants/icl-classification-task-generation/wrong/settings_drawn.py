# Draws factor and class_sep for each task, as the experiments of the paper do.
import numpy as np


def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type="linear", factor=0.5, class_sep=2):
    X = np.zeros((num_tasks, num_samples_per_task, num_dimensions))
    Y = np.zeros((num_tasks, num_samples_per_task))
    for task in range(num_tasks):
        rng = np.random.default_rng(seed + task)
        x, y = generate_x_y(
            num_samples=num_samples_per_task,
            num_dimensions=num_dimensions,
            seed=seed + task,
            data_type=data_type,
            factor=rng.uniform(0.1, 0.9),
            class_sep=rng.uniform(1.5, 2),
        )
        X[task] = x
        Y[task] = y
    print(f"Generated {num_tasks} tasks with {num_samples_per_task} samples each")
    return X, Y
