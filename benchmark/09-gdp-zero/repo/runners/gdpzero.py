"""Play persuasion dialogues with tree search, and compare success rates with acting on the prior alone."""

import argparse
from collections.abc import Sequence

import numpy as np
from core.game import SYSTEM_ACTS, USER_ACTS, PersuasionGame
from core.gen_models import TableGenerator
from core.helpers import DialogSession
from core.mcts import OpenLoopMCTS
from core.players import DialogPlanner, UserSimulator
from utils.utils import default_configs, dotdict, set_deterministic_seed

#: What moves the simulated user.
GAINS = {"credibility appeal": 1.6, "emotion appeal": 1.2, "personal story": 0.6, "task related inquiry": 0.3}
#: Acts before the user grows impatient.
MAX_TURNS = 7


def make_game(seed: int | Sequence[int]) -> PersuasionGame:
    """A game whose user and wording are random, but the same for the same seed."""
    user_seed, word_seed = np.random.SeedSequence(seed).spawn(2)
    user = UserSimulator(np.random.default_rng(user_seed), GAINS)
    return PersuasionGame(user, TableGenerator(np.random.default_rng(word_seed)), MAX_TURNS)


def plan(
    state: DialogSession, planner: DialogPlanner, configs: dotdict, seed: int | Sequence[int]
) -> tuple[int, np.ndarray, str]:
    """Search from a state.

    Returns:
        The act that is taken (of equals the first), the share of each act in the weights of the search (actions,), and
        how to word the act.
    """
    mcts = OpenLoopMCTS(make_game(seed), planner, configs, seed)
    for _ in range(configs.num_MCTS_sims + 1):  # the first one opens the root
        mcts.search(state)
    shares = mcts.get_action_prob(state)
    action = int(shares.argmax())
    return action, shares, mcts.get_best_realization(state, action)


def play(seed: int, planner: DialogPlanner, configs: dotdict, verbose: bool = False) -> bool:
    """Play one dialogue; return whether the user donated. Without simulations the most likely act is taken."""
    game = make_game(1000 + seed)
    state = game.init_dialog()
    while not game.get_dialog_ended(state):
        if configs.num_MCTS_sims > 0:
            action, shares, utterance = plan(state, planner, configs, (seed, len(state)))
        else:
            prior, _ = planner.predict(state)
            action = int((prior * planner.get_valid_moves(state)).argmax())
            shares, utterance = prior, ""
        state = game.get_next_state(state, action)
        if utterance:
            state.history[-2] = state.history[-2]._replace(utterance=utterance)
        if verbose:
            reply = state.last_act(DialogSession.USR)
            percent = "  ".join(f"{100 * share:3.0f}" for share in shares)
            print(f"{percent}   {SYSTEM_ACTS[action]:<24} {reply:<18} {state.history[-2].utterance}")
    return state.last_act(DialogSession.USR) == USER_ACTS[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sims", type=int, nargs="+", default=[0, 5, 10, 20], help="searches a turn")
    parser.add_argument("--dialogs", type=int, default=100)
    parser.add_argument("--cpuct", type=float, default=1.0)
    parser.add_argument("--q0", type=float, default=0.25, help="value of untried actions")
    parser.add_argument("--seed", type=int, default=2)
    arguments = parser.parse_args()

    set_deterministic_seed(arguments.seed)
    planner = DialogPlanner(SYSTEM_ACTS)
    settings = [
        default_configs(cpuct=arguments.cpuct, Q_0=arguments.q0, num_MCTS_sims=count) for count in arguments.sims
    ]
    print("percent of the weight of each act, the act that is taken, the user's reply\n")
    print("  ".join(act[:3] for act in SYSTEM_ACTS))
    play(arguments.seed, planner, settings[-1], verbose=True)

    print("\nsearches a turn   donations")
    for configs in settings:
        donated = [play(arguments.seed + index, planner, configs) for index in range(arguments.dialogs)]
        print(f"{configs.num_MCTS_sims:>15}   {sum(donated) / len(donated):>8.0%}")


if __name__ == "__main__":
    main()
