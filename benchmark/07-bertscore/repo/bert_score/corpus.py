"""Everyday sentences from sentence frames: what the tokenizer and the encoder learn from, and what idf is counted on.

Words of one slot are exchangeable, so that their vectors become similar, as they would from a large corpus.
"""

import itertools
import random
import string

#: Words that can take each other's place.
SLOTS: dict[str, tuple[str, ...]] = {
    "healer": ("doctor", "physician", "surgeon"),
    "patient": ("patient", "sick man", "injured woman"),
    "treated": ("treated", "examined", "cured"),
    "hospital": ("hospital", "clinic"),
    "child": ("child", "kid", "boy", "girl"),
    "parent": ("mother", "father", "parent"),
    "teacher": ("teacher", "tutor", "lecturer"),
    "student": ("student", "pupil", "learner"),
    "taught": ("taught", "explained", "presented"),
    "lesson": ("lesson", "class", "course"),
    "car": ("car", "automobile", "vehicle"),
    "buyer": ("customer", "shopper", "client"),
    "bought": ("bought", "purchased", "acquired"),
    "sold": ("sold", "offered"),
    "house": ("house", "home", "cottage"),
    "big": ("big", "large", "huge"),
    "small": ("small", "little", "tiny"),
    "fast": ("quickly", "rapidly", "fast"),
    "slow": ("slowly", "gradually"),
    "film": ("film", "movie"),
    "viewer": ("audience", "public", "crowd"),
    "liked": ("liked", "loved", "enjoyed"),
    "hated": ("hated", "disliked"),
    "began": ("began", "started"),
    "ended": ("ended", "finished", "stopped"),
    "rain": ("rain", "snow", "storm"),
    "dog": ("dog", "puppy", "hound"),
    "cat": ("cat", "kitten"),
    "chased": ("chased", "followed"),
    "garden": ("garden", "yard", "park"),
    "meal": ("meal", "dinner", "lunch"),
    "cooked": ("cooked", "prepared", "made"),
    "cook": ("cook", "chef"),
    "ate": ("ate", "tasted"),
    "tasty": ("tasty", "delicious"),
    "ship": ("ship", "boat", "vessel"),
    "sailor": ("sailor", "captain"),
    "harbour": ("harbour", "port"),
    "left": ("left", "reached", "entered"),
    "day": ("yesterday", "today", "at night", "in the morning"),
}
FRAMES = (
    "the {healer} {treated} the {patient} in the {hospital}",
    "the {patient} {left} the {hospital} {day}",
    "the {parent} took the {child} to the {healer} {day}",
    "the {teacher} {taught} the {lesson} to the {student}",
    "the {student} {liked} the {lesson} of the {teacher}",
    "the {student} {hated} the {lesson} , which {began} {day}",
    "the {buyer} {bought} a {big} {car} {day}",
    "the {buyer} {sold} the {small} {house} {day}",
    "the {car} {fast} {left} the {garden} of the {big} {house}",
    "the {viewer} {liked} the {film} , which {ended} {day}",
    "the {viewer} {hated} the {film} {day}",
    "the {film} {began} {slow} and {ended} {fast}",
    "the {rain} {began} {day} and {ended} {slow}",
    "the {small} {dog} {chased} the {cat} in the {garden}",
    "the {child} {liked} the {small} {cat} and the {big} {dog}",
    "the {cook} {cooked} a {tasty} {meal} {day}",
    "the {child} {ate} the {tasty} {meal} of the {parent}",
    "the {sailor} {slow} {left} the {harbour} in a {big} {ship}",
    "the {ship} {fast} {left} the {harbour} in the {rain}",
    "the {parent} {bought} a {small} {dog} for the {child}",
)


def slots_of(frame: str) -> list[str]:
    """Names of the slots of a frame, in order and each of them once."""
    return list(dict.fromkeys(name for _, name, _, _ in string.Formatter().parse(frame) if name))


def make_corpus(sentences: int = 1200, seed: int = 0) -> list[str]:
    """Fill the frames in turn with random words: lower-case sentences, their words and commas split by blanks."""
    rng = random.Random(seed)
    frames = itertools.islice(itertools.cycle(FRAMES), sentences)
    return [frame.format(**{name: rng.choice(SLOTS[name]) for name in slots_of(frame)}) for frame in frames]
