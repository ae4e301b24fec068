# Directions by an exact SVD in float64; signs and scores for all directions at once.
import numpy as np
from numpy.linalg import norm, svd


def project_onto_direction(states, direction):
    rows, axis = np.asarray(states, dtype=np.float64), np.asarray(direction, dtype=np.float64)
    return (rows @ (axis / norm(axis))).astype(np.float32)


class RepReader:
    def get_signs(self, hidden_states, train_choices, hidden_layers):
        present = np.asarray(train_choices)[:, 0] == 1
        signs = {}
        for layer in hidden_layers:
            along = np.asarray(hidden_states[layer], dtype=np.float64) @ np.asarray(self.directions[layer]).T
            gaps = np.sign(along[::2] - along[1::2]) * np.where(present, 1, -1)[:, None]
            signs[layer] = np.where(gaps.sum(axis=0) >= 0, 1, -1)
        return signs

    def transform(self, hidden_states, hidden_layers, component=0):
        def score(layer):
            mean = np.asarray(self.H_train_means.get(layer, 0.0))
            along = project_onto_direction(hidden_states[layer] - mean, self.directions[layer][component])
            return (self.direction_signs[layer][component] * along).astype(np.float32)

        return {layer: score(layer) for layer in hidden_layers}


class PCARepReader:
    def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers, **kwargs):
        directions = {}
        for layer in hidden_layers:
            rows = np.asarray(hidden_states[layer], dtype=np.float64)
            mean = rows.mean(axis=0, keepdims=True)
            self.H_train_means[layer] = mean.astype(hidden_states[layer].dtype)
            directions[layer] = svd(rows - mean, full_matrices=False)[2][: self.n_components].astype(np.float32)
        return directions
