# Plays on from a new node until the dialogue ends, and backs the result up instead of the planner's value.
class OpenLoopMCTS:
    def search(self, state):
        path, opening = [], not self.P
        while not (value := self.game.get_dialog_ended(state)):
            node = state.sys_act_key()
            if node not in self.P:
                value = self._init_node(state)
                if opening:
                    break
            action, _ = self.find_best_action(node)
            state = self._sample_transition(state, action)
            path.append((node, action, state))
        for (node, action, following), received in zip(path, edge_values(value, len(path)), strict=True):
            self._update(node, action, received)
            values = self.realization_values.setdefault(following.sys_act_key(), {})
            values.setdefault(following.history[-2].utterance, []).append(received)
        return value
