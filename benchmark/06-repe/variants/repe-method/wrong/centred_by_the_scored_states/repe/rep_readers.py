# Subtracts the mean of the states that are scored.
import numpy as np


class RepReader:
    def transform(self, hidden_states, hidden_layers, component=0):
        scores = {}
        for layer in hidden_layers:
            states = hidden_states[layer] - hidden_states[layer].mean(0, keepdims=True)
            along = project_onto_direction(states, self.directions[layer][component])
            scores[layer] = along * np.float32(self.direction_signs[layer][component])
        return scores
