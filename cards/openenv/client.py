"""The client of the environment; it lives in the package, so that a training script needs no files of the Space."""

from lmrbench_data.openenv import LMRBenchAction, LMRBenchEnv, LMRBenchObservation

__all__ = ["LMRBenchAction", "LMRBenchEnv", "LMRBenchObservation"]
