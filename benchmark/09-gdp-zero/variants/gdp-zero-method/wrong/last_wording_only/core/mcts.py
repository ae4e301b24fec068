# Credits only the last dialogue of the path with the value, not those on the way.
class OpenLoopMCTS:
    def search(self, state):
        path = []
        while not (value := self.game.get_dialog_ended(state)):
            node = state.sys_act_key()
            if node not in self.P:
                value = self._init_node(state)
                break
            action, _ = self.find_best_action(node)
            state = self._sample_transition(state, action)
            path.append((node, action, state))
        for (node, action, _), received in zip(path, edge_values(value, len(path)), strict=True):
            self._update(node, action, received)
        if path:
            values = self.realization_values.setdefault(state.sys_act_key(), {})
            values.setdefault(state.history[-2].utterance, []).append(edge_values(value, len(path))[-1])
        return value
