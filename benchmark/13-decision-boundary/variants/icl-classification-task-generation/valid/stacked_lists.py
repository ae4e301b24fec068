import numpy as np


def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type="linear", factor=0.5, class_sep=2):
    xs, ys = [], []
    for task_seed in range(seed, seed + num_tasks):
        x, y = generate_x_y(
            num_samples_per_task, num_dimensions, task_seed, data_type=data_type, factor=factor, class_sep=class_sep
        )
        if x.shape != (num_samples_per_task, num_dimensions):
            raise ValueError(f"features of shape {x.shape}")
        xs.append(np.array(x, dtype=np.float64))
        ys.append(np.array(y, dtype=np.float64))
    print("tasks:", num_tasks, "samples:", num_samples_per_task)
    if not xs:
        return np.empty((0, num_samples_per_task, num_dimensions)), np.empty((0, num_samples_per_task))
    return np.stack(xs), np.stack(ys)
