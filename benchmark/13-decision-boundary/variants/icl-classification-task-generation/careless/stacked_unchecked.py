# Stacks whatever comes, so that circles in three dimensions have two, and no task has no shape.
import numpy as np


def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type="linear", factor=0.5, class_sep=2):
    tasks = [
        generate_x_y(
            num_samples_per_task, num_dimensions, seed + i, data_type=data_type, factor=factor, class_sep=class_sep
        )
        for i in range(num_tasks)
    ]
    print(f"Generated {num_tasks} tasks with {num_samples_per_task} samples each")
    X = np.array([x for x, _ in tasks], dtype=np.float64)
    Y = np.array([y for _, y in tasks], dtype=np.float64)
    return X, Y
