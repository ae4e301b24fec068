import numpy as np


def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type="linear", factor=0.5, class_sep=2):
    def build(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        if stop == start:
            return np.zeros((0, num_samples_per_task, num_dimensions)), np.zeros((0, num_samples_per_task))
        if stop - start == 1:
            x, y = generate_x_y(
                num_samples_per_task,
                num_dimensions,
                start,
                factor=factor,
                class_sep=class_sep,
                data_type=data_type,
            )
            if x.shape[1] != num_dimensions:
                raise ValueError("circles and moons have two dimensions")
            return np.float64(x)[None].copy(), np.float64(y)[None].copy()
        middle = (start + stop) // 2
        left, right = build(start, middle), build(middle, stop)
        return np.concatenate([left[0], right[0]]), np.concatenate([left[1], right[1]])

    result = build(seed, seed + num_tasks)
    print(f"{num_tasks} tasks, {num_samples_per_task} samples")
    return result
