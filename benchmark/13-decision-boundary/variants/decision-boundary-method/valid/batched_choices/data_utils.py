# Stacks lists.
import numpy as np


def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type="linear", factor=0.5, class_sep=2):
    made = [
        generate_x_y(num_samples_per_task, num_dimensions, s, data_type, factor, class_sep)
        for s in range(seed, seed + num_tasks)
    ]
    print(f"generated {num_tasks} tasks with {num_samples_per_task} samples")
    return np.stack([x for x, _ in made]), np.stack([y for _, y in made]).astype(float)
