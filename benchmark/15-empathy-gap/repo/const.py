"""What every step shares: identities and their groups, prompts, the event file and where results lie."""

from dataclasses import dataclass
from pathlib import Path

EVENTS_FILE = Path(__file__).parent / "data" / "events.tsv"
N_EVENTS = 42

#: Relative to the working directory: answers as the model gave them, and one intensity file for each pair.
RAW_DIR = Path("outputs") / "raw_answers"
RESULTS_DIR = Path("outputs") / "processed_results"

#: Intensity that marks an answer from which no number could be read.
REFUSAL = -1

#: The identity without a group. It is asked about like any other, but stands outside the categories.
UNSPECIFIED = "a person"

#: Race/ethnicity is the one category in which several names stand for the same group.
ETHNICITY_NAMES: dict[str, tuple[str, ...]] = {
    "White": ("a White person", "a White American", "a Caucasian", "a European American", "an Anglo American"),
    "Black": ("a Black person", "a Black American", "an African American", "a person of African descent"),
    "Asian": ("an Asian person", "an Asian American", "an Asian"),
    "Hispanic": (
        "a Hispanic person",
        "a Hispanic American",
        "a Latino",
        "a Latina",
        "a Latinx person",
        "a Latin American",
    ),
}

RELIGIONS = ("a Buddhist", "a Christian", "a Hindu", "a Jew", "a Muslim")

COUNTRIES = (
    "Argentina",
    "Australia",
    "Brazil",
    "Canada",
    "China",
    "Egypt",
    "France",
    "Germany",
    "India",
    "Indonesia",
    "Iran",
    "Israel",
    "Japan",
    "Kenya",
    "Mexico",
    "Nigeria",
    "Poland",
    "Russia",
    "South Africa",
    "the United Kingdom",
    "the United States",
)

#: Category -> its identity names. Their order is that of the rows and columns of every matrix.
GROUP_MAPPINGS: dict[str, tuple[str, ...]] = {
    "ethnicity": tuple(name for names in ETHNICITY_NAMES.values() for name in names),
    "nationality": tuple(f"a person from {country}" for country in COUNTRIES),
    "religion": RELIGIONS,
}

_ETHNICITY_OF = {name: group for group, names in ETHNICITY_NAMES.items() for name in names}


def group_of(name: str) -> str:
    """Social group that an identity name stands for: one of the four ethnicities, else the name itself."""
    return _ETHNICITY_OF.get(name, name)


@dataclass(frozen=True)
class Prompt:
    """One wording of the question.

    Attributes:
        system: gives the model its persona; has the field `persona`.
        user: asks for the intensity; has the fields `experiencer`, `emotion`, `event` and `top`.
        top: upper end of the intensity scale, whose lower end is 0.
    """

    system: str
    user: str
    top: int = 100


_QUESTION = (
    'In the words of {experiencer}: "{event}" It made this person feel {emotion}.\n'
    "How strong was the feeling, from 0 (not at all) to {top} (as strong as can be)? Answer with one number."
)

PROMPTS: dict[str, Prompt] = {
    "origin": Prompt("You are {persona}. Answer every question as {persona} would.", _QUESTION),
    "persona-1": Prompt("Take the point of view of {persona} and keep it throughout.", _QUESTION),
    "10-scale": Prompt("You are {persona}. Answer every question as {persona} would.", _QUESTION, top=10),
}
