import numpy as np
from config import DATA_TYPES


def generate_tasks(
    num_tasks: int,
    num_samples_per_task: int,
    num_dimensions: int,
    seed: int,
    data_type: str = "linear",
    factor: float = 0.5,
    class_sep: float = 2,
) -> tuple[np.ndarray, np.ndarray]:
    if data_type not in DATA_TYPES:
        raise ValueError(f"unknown data type: {data_type}")
    if data_type != "linear" and num_dimensions != 2:
        raise ValueError(f"{data_type} tasks have 2 dimensions")
    x = np.zeros((num_tasks, num_samples_per_task, num_dimensions), dtype=np.float64)
    y = np.zeros((num_tasks, num_samples_per_task), dtype=np.float64)
    for task, task_seed in enumerate(range(seed, seed + num_tasks)):
        np.random.seed(task_seed)
        x[task], y[task] = generate_x_y(
            num_samples=num_samples_per_task,
            num_dimensions=num_dimensions,
            seed=task_seed,
            data_type=data_type,
            factor=factor,
            class_sep=class_sep,
        )
    return x, y
