"""Findings from a row and its recorded outputs, without a run: cases that vary with the seed, trivial answers."""

from collections.abc import Sequence

from lmrbench_data.dataset.rows import DatasetRow

from .seeds import variation
from .trials import SEEDS, TRIVIAL, Finding
from .trivial import Weakness, weaknesses


def note_on_seeds(row: DatasetRow) -> Finding:
    """Report cases that ignore the seed; a core case among them is an error, because it can be memorised."""
    instance, seeds = row["instance_id"], variation(row)
    facts = {"varying_cases": list(seeds.varying), "constant_cases": list(seeds.constant)}
    if seeds.constant_core:
        error = f"core cases must vary with the seed: {', '.join(seeds.constant_core)}"
        return Finding.of(instance, SEEDS, error, facts=facts)
    return Finding.of(instance, SEEDS, "", str(seeds), facts=facts)


def note_on_trivial_answers(row: DatasetRow) -> Finding:
    """Report trivial answers that pass a case; one that passes a core case is an error.

    Raises:
        StreamError: the recording is damaged.
    """
    found = list(weaknesses(row))

    def shown(weak: Sequence[Weakness]) -> str:
        return "; ".join(f"{item.case} ({', '.join(item.passing)})" for item in weak)

    core, contract = ([item for item in found if item.core is core] for core in (True, False))
    facts = {
        name: {item.case: item.passing for item in weak}
        for name, weak in (("trivial_core_cases", core), ("trivial_contract_cases", contract))
    }
    if core:
        return Finding.of(row["instance_id"], TRIVIAL, f"core cases must refuse them: {shown(core)}", facts=facts)
    number = len(row["tests"]["cases"]) - sum(case["core"] for case in row["tests"]["cases"])
    text = f"no core case passes them, {len(contract)} of {number} contract cases do"
    note = f"{text}: {shown(contract)}" if contract else text
    return Finding.of(row["instance_id"], TRIVIAL, "", note, facts=facts)
