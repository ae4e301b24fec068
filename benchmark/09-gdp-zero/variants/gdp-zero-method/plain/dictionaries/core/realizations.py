# Statistics from the standard library.
import statistics


def realization_limit(visits: int, constant: int) -> int:
    del visits
    return constant


def wording_score(values):
    return statistics.mean(values)
