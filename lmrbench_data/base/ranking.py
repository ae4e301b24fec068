"""The rule of ranking: which level ranks each track, and the order of scores.

The paper track hides the contract from the model, so it is ranked by the share of instances reproduced; the contract
track shows it and is ranked by the share that is robust, the stricter level. An unstated track is ranked likewise.
The module imports nothing: the leaderboard Space gets a copy of it (`cards/space`).
"""

REPRODUCED, ROBUST = "reproduced", "robust"
#: Track → the level that ranks it.
RANKED_BY = {"paper": REPRODUCED, "contract": ROBUST}


def ranking_level(track: str) -> str:
    """Return the level that ranks a track, `reproduced` or `robust`."""
    return RANKED_BY.get(track, ROBUST)


def ranking_key(track: str, reproduced: float, robust: float) -> tuple[float, float]:
    """Return a key that sorts the scores of a track from best to worst.

    Args:
        reproduced, robust: shares of instances at each level.
    """
    return (-reproduced, -robust) if ranking_level(track) == REPRODUCED else (-robust, -reproduced)
