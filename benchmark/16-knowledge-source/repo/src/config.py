"""Settings of the study. Other modules read them as attributes of this module when they need them."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRIPLETS_FILE = ROOT / "data" / "triplets.csv"
RELATIONS_FILE = ROOT / "data" / "relations.csv"
METRICS_FILE = ROOT / "outputs" / "probing_metrics.csv"

#: Threshold tau of the filter against the subject/object bias (Section 3.1.3).
SUBJECT_OBJECT_SIMILARITY = 0.8
#: Counter-parametric objects of each triplet (Appendix A).
NB_COUNTER_PARAMETRIC_KNOWLEDGE = 3
#: Which of the two examples of a relation its generation prompt shows.
SHOWN_EXAMPLE = 1

#: Labels that the probes tell apart; the position of a label is its class.
KNOWLEDGE_SOURCES = ("CK", "PK")
#: Token positions at which activations are stored, in stored order.
POSITIONS = ("first", "object", "subject_query", "relation_query")
#: Modules of a layer that are recorded.
MODULES = ("mhsa", "mlp", "mlp-l1")

#: Seed with which a set of prompts is balanced.
SAMPLING_SEED = 0
#: Keyword arguments of the logistic regression.
PROBE_SETTINGS = {"random_state": 16, "max_iter": 10_000}
