"""The version of LMR-Bench."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("lmrbench")
except PackageNotFoundError:  # imported from a checkout that was never installed
    __version__ = "0.0.0+unknown"
