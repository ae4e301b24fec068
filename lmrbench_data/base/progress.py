"""How long work tells of its progress: the command line draws a bar, a notebook may draw its own, tests count."""


class Progress:
    """Told of each step of one piece of work; by itself it shows nothing. Subclass it to see something."""

    def start(self, total: int) -> None:
        """There are `total` steps."""

    def step(self, label: str = "") -> None:
        """One of them is done and came to `label`: a status, a category, a name."""
