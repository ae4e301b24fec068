# Takes the ranges of the tuning tasks for those of the tests, and the other way round.
def task_options(data_type, training, rng):
    name, *ranges = {
        "linear": ("class_sep", (1.5, 2.0), (1.0, 1.4)),
        "circle": ("factor", (0.1, 0.4), (0.5, 0.9)),
        "moon": ("noise_moon", (0.05, 0.1), (0.1, 0.2)),
    }[data_type]
    low, high = ranges[1] if training else ranges[0]
    return {name: rng.uniform(low, high)}
