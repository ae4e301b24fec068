"""Write the notes of a check: what a row and its recorded outputs say of the cases, without a run."""

from collections.abc import Sequence

from lmrbench_data.dataset.rows import DatasetRow

from .seeds import variation
from .trials import SEEDS, TRIVIAL, Finding
from .trivial import Weakness, weaknesses


def note_on_seeds(row: DatasetRow) -> Finding:
    """The note on seeds; a core case that ignores them can be learned by heart."""
    instance, seeds = row["instance_id"], variation(row)
    facts = {"varying_cases": list(seeds.varying), "constant_cases": list(seeds.constant)}
    if seeds.constant_core:
        fault = f"core cases must vary with the seed: {', '.join(seeds.constant_core)}"
        return Finding(instance, SEEDS, False, fault, facts=facts)
    return Finding(instance, SEEDS, True, str(seeds), facts=facts)


def note_on_trivial_answers(row: DatasetRow) -> Finding:
    """The note on trivial answers: a fault if one passes a core case, a count where the contract is concerned.

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
        return Finding(row["instance_id"], TRIVIAL, False, f"core cases must refuse them: {shown(core)}", facts=facts)
    number = len(row["tests"]["cases"]) - sum(case["core"] for case in row["tests"]["cases"])
    text = f"no core case passes them, {len(contract)} of {number} contract cases do"
    return Finding(row["instance_id"], TRIVIAL, True, f"{text}: {shown(contract)}" if contract else text, facts=facts)
