"""Load LMR-Bench from a checkout; datasets carry `lmrbench_data/loader.py`, which stands alone."""

from lmrbench_data.dataset.load import load, load_rows
from lmrbench_data.loader import unpack

__all__ = ["load", "load_rows", "unpack"]
