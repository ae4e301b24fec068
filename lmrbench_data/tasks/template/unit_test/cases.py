"""Labelled inputs for SLUG."""

from lmrbench_cases import core

# TODO: import the goal function as the repository imports it


# TODO: a core case for each step and equation of the method. Make inputs from the seed and return
# the outputs.
@core
def case_method(seed):
    raise NotImplementedError  # TODO


# TODO: cases of the contract, without the mark: half precision, empty batches, errors for bad
# input, unchanged inputs.
def case_contract(seed):
    raise NotImplementedError  # TODO
