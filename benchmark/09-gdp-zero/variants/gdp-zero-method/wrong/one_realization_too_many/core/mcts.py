# Makes a new dialogue when the node is full already.
class OpenLoopMCTS:
    def _sample_transition(self, state, action):
        kept = self.realizations.setdefault(self._child_key(state, action), [])
        if len(kept) <= realization_limit(self.Nsa[state.sys_act_key()][action], self.configs.realizations):
            kept.append(self.game.get_next_state(state, action))
            return kept[-1]
        return kept[self.rng.integers(len(kept))]
