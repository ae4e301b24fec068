"""The interface through which long work reports its progress, to a bar on the command line, a notebook or a test."""


class Progress:
    """Receives progress steps and shows nothing; subclasses display them."""

    def start(self, total: int) -> None:
        """Begin work of `total` steps."""

    def step(self, label: str = "") -> None:
        """Finish a step with the result `label`: a status, a category, a name."""
