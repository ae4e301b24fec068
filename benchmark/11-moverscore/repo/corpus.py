"""Generated news and travel sentences, from which tokenizer, encoder and idf weights are learnt.

Words of one slot are exchangeable, so that their vectors become similar, as they would from a large corpus.
"""

import random
import re

#: Words that can take each other's place.
SLOTS: dict[str, tuple[str, ...]] = {
    "leader": ("president", "minister", "chancellor"),
    "said": ("said", "announced", "declared"),
    "plan": ("plan", "reform", "proposal"),
    "parliament": ("parliament", "assembly"),
    "rejected": ("rejected", "refused", "blocked"),
    "accepted": ("accepted", "approved", "adopted"),
    "raise": ("raise", "increase"),
    "lower": ("lower", "reduce", "cut"),
    "tax": ("tax", "price", "rent"),
    "firm": ("company", "firm", "business"),
    "worker": ("worker", "employee", "clerk"),
    "hired": ("hired", "employed", "engaged"),
    "dismissed": ("dismissed", "fired"),
    "factory": ("factory", "plant"),
    "closed": ("closed", "shut"),
    "opened": ("opened", "launched"),
    "train": ("train", "tram", "bus"),
    "traveller": ("traveller", "passenger", "tourist"),
    "waited": ("waited", "stood"),
    "station": ("station", "stop", "platform"),
    "hotel": ("hotel", "hostel", "inn"),
    "booked": ("booked", "reserved", "ordered"),
    "room": ("room", "bed", "table"),
    "flood": ("flood", "storm", "fire"),
    "destroyed": ("destroyed", "damaged", "hit"),
    "bridge": ("bridge", "road", "tunnel"),
    "village": ("village", "town", "city"),
    "rescued": ("rescued", "saved", "helped"),
    "people": ("people", "residents", "families"),
    "police": ("police", "army"),
    "thief": ("thief", "robber", "burglar"),
    "arrested": ("arrested", "caught", "captured"),
    "stole": ("stole", "took"),
    "painting": ("painting", "picture", "portrait"),
    "museum": ("museum", "gallery"),
    "team": ("team", "club", "side"),
    "won": ("won", "lost"),
    "match": ("match", "game", "final"),
    "late": ("late", "delayed"),
    "big": ("big", "large", "huge"),
    "small": ("small", "little"),
    "time": ("yesterday", "today", "on monday", "last week"),
}
FRAMES = (
    "the {leader} {said} a {big} {plan} {time}.",
    "the {parliament} {rejected} the {plan} of the {leader} {time}.",
    "the {parliament} {accepted} the {plan}, the {leader} {said} {time}.",
    "the {leader} wants to {raise} the {tax} {time}.",
    "the {leader} wants to {lower} the {tax}.",
    "the {firm} {hired} a {worker} in its {big} {factory}.",
    "the {firm} {dismissed} the {worker} {time}.",
    "the {firm} {closed} a {small} {factory} in the {village}.",
    "the {firm} {opened} a {big} {factory} in the {village} {time}.",
    "the {traveller} {waited} for the {train} at the {station}.",
    "the {train} was {late}, and the {traveller} {waited}.",
    "the {traveller} {booked} a {small} {room} in the {hotel}.",
    "the {hotel} in the {village} {opened} {time}.",
    "a {flood} {destroyed} the {bridge} to the {village}.",
    "the {flood} {destroyed} the {village}; the {police} {rescued} the {people}.",
    "the {police} {arrested} the {thief} {time}.",
    "the {thief} {stole} a {small} {painting} from the {museum}.",
    "the {museum} {opened}, and the {people} {waited}.",
    "the {team} {won} the {match} {time}.",
    "the {team} of the {village} {won} a {big} {match}.",
    "the {traveller}s are waiting at the {station}...",
    "the {firm} is hiring {worker}s.",
    "the {bridge} to the {village} was {destroyed} by a {flood}.",
    "{time}, the {thief} {stole} {painting}s!",
)


def make_corpus(sentences: int = 1440, seed: int = 0) -> list[str]:
    """Fill the frames in turn with random words: lower-case sentences with punctuation."""
    rng = random.Random(seed)
    return [
        re.sub(r"{(\w+)}", lambda slot: rng.choice(SLOTS[slot[1]]), FRAMES[number % len(FRAMES)])
        for number in range(sentences)
    ]
