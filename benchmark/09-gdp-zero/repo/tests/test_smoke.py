"""Smoke tests of the parts: `python -m unittest discover tests` in the repository's root."""

import sys
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from core.game import SYSTEM_ACTS, USER_ACTS  # noqa: E402
from core.gen_models import load_utterances  # noqa: E402
from core.helpers import DialogSession  # noqa: E402
from core.mcts import OpenLoopMCTS  # noqa: E402
from core.players import DialogPlanner  # noqa: E402
from runners.gdpzero import make_game, plan, play  # noqa: E402
from utils.utils import default_configs  # noqa: E402


class GameTest(unittest.TestCase):
    def setUp(self) -> None:
        self.game = make_game(0)
        self.planner = DialogPlanner(SYSTEM_ACTS)

    def test_transition_leaves_the_state_alone(self) -> None:
        state = self.game.init_dialog()
        following = self.game.get_next_state(state, 0)
        self.assertEqual((len(state), len(following)), (0, 2))
        self.assertEqual(self.game.get_next_state(following, 2).sys_act_key(), "greeting__personal story")

    def test_dialogue_ends(self) -> None:
        state = DialogSession()
        self.assertEqual(self.game.get_dialog_ended(state), 0)
        state.add(DialogSession.USR, "donate", "Yes.")
        self.assertEqual(self.game.get_dialog_ended(state), 1)

    def test_every_act_can_be_worded(self) -> None:
        table = load_utterances()
        self.assertEqual(list(table[DialogSession.SYS]), SYSTEM_ACTS)
        self.assertEqual(list(table[DialogSession.USR]), USER_ACTS)

    def test_planner(self) -> None:
        state = self.game.get_next_state(self.game.init_dialog(), 0)
        prior, value = self.planner.predict(state)
        self.assertAlmostEqual(prior.sum(), 1.0)
        self.assertTrue(-1 <= value <= 1)
        self.assertEqual(self.planner.get_valid_moves(state).tolist(), [0] + [1] * 7)

    def test_options_are_checked(self) -> None:
        self.assertEqual(default_configs(cpuct=2.0).cpuct, 2.0)
        self.assertRaises(ValueError, default_configs, c_puct=2.0)


class SearchTest(unittest.TestCase):
    def setUp(self) -> None:
        self.planner = DialogPlanner(SYSTEM_ACTS)

    def test_first_simulation_opens_the_root(self) -> None:
        mcts = OpenLoopMCTS(make_game(0), self.planner, default_configs())
        state = make_game(0).get_next_state(DialogSession(), 0)
        mcts.search(state)
        self.assertEqual(mcts.Ns, {"greeting": 0})
        self.assertAlmostEqual(mcts.P["greeting"].sum(), 1.0)
        self.assertEqual(mcts.P["greeting"][0], 0.0)
        np.testing.assert_allclose(mcts.get_action_prob(state), [0] + [1 / 7] * 7)

    def test_visits_add_up(self) -> None:
        mcts = OpenLoopMCTS(make_game(1), self.planner, default_configs())
        state = make_game(1).get_next_state(DialogSession(), 0)
        for _ in range(31):
            mcts.search(state)
        self.assertEqual(mcts.Ns["greeting"], 30)
        self.assertEqual(sum(mcts.Nsa["greeting"].values()), 30)
        self.assertTrue(all(kept for kept in mcts.realizations.values()))

    def test_plan_and_play(self) -> None:
        configs = default_configs(num_MCTS_sims=8)
        action, shares, utterance = plan(DialogSession(), self.planner, configs, seed=0)
        self.assertEqual(SYSTEM_ACTS[action], "greeting")
        self.assertAlmostEqual(shares.sum(), 1.0)
        self.assertIn(utterance, load_utterances()[DialogSession.SYS]["greeting"])
        self.assertIsInstance(play(0, self.planner, configs), bool)


if __name__ == "__main__":
    unittest.main()
