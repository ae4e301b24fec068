"""From tasks to a dataset: rows, cards, the dataset folder, publishing."""
