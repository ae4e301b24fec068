from collections.abc import Iterator

import numpy as np


def _iterate(count: int, seed: int, **settings) -> Iterator[np.ndarray]:
    """One array a task: the features, and the labels in a last column."""
    for i in reversed(range(count)):
        x, y = generate_x_y(seed=seed + i, **settings)
        yield np.column_stack([x, y]).astype(np.float64)


def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type="linear", factor=0.5, class_sep=2):
    tasks = list(
        _iterate(
            num_tasks,
            seed,
            num_samples=num_samples_per_task,
            num_dimensions=num_dimensions,
            data_type=data_type,
            factor=factor,
            class_sep=class_sep,
        )
    )
    # A wrong number of columns does not fit into this shape and is a ValueError.
    table = np.array(tasks[::-1]).reshape(num_tasks, num_samples_per_task, num_dimensions + 1)
    print(f"made {num_tasks} tasks with {num_samples_per_task} samples")
    return table[..., :-1].copy(), table[..., -1].copy()
