def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type="linear", factor=0.5, class_sep=2):
    features, labels = [], []
    for i in range(num_tasks):
        x, y = generate_x_y(num_samples_per_task, num_dimensions, seed + i, data_type, factor, class_sep)
        features.append(x)
        labels.append(y)
    return np.stack(features), np.stack(labels).astype(float)
