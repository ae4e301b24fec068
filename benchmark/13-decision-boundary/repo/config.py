"""Settings of the experiments."""

from dataclasses import dataclass

#: Names that stand for classes 0 and 1 in prompts. They mean nothing, so that only the examples can teach the task.
LABEL_NAMES = ("Foo", "Bar")
#: Kinds of tasks that `data_utils.generate_x_y` knows.
DATA_TYPES = ("linear", "circle", "moon")
#: Features are scaled to whole-number territory, which is cheap to write down in a prompt.
FEATURE_RANGE = (0.0, 100.0)


@dataclass(frozen=True)
class ExperimentConfig:
    """What `run.py` does.

    Attributes:
        num_tasks: tasks of each kind; the first `train_share` of them tune the learners, the others test them.
        num_samples: samples of a task, which are split into context and queries.
        num_context: examples in a prompt, half of them of each class.
        grid_size: points along each side of the grid on which a decision boundary is drawn.
        factor: radius of the inner circle, as a share of the outer one.
        class_sep: how far apart the classes of a linear task are.
        seed: seed of the first task of a set. The next ones follow without gaps, so that sets have no task in common if
            their seeds are at least `num_tasks` apart.
    """

    num_tasks: int = 10
    train_share: float = 0.8
    num_samples: int = 256
    num_context: int = 128
    grid_size: int = 50
    factor: float = 0.5
    class_sep: float = 1.5
    seed: int = 0
