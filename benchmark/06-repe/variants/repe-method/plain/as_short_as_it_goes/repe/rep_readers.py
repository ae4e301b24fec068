# The formulas of the paper, a line each.
import numpy as np


def project_onto_direction(states, direction):
    s, d = np.asarray(states), np.asarray(direction)
    return (s @ d / np.linalg.norm(d)).astype(np.float32)


class RepReader:
    def get_signs(self, hidden_states, train_choices, hidden_layers):
        y = np.array(train_choices).astype(bool)
        out = {}
        for layer in hidden_layers:
            signs = []
            for d in self.directions[layer]:
                p = project_onto_direction(hidden_states[layer], d).reshape(-1, 2)
                larger = (p[y] > p[~y]).sum()
                smaller = (p[y] < p[~y]).sum()
                signs.append(1 if larger >= smaller else -1)
            out[layer] = np.array(signs)
        return out

    def transform(self, hidden_states, hidden_layers, component=0):
        out = {}
        for layer in hidden_layers:
            h = hidden_states[layer] - self.H_train_means.get(layer, 0)
            out[layer] = (
                self.direction_signs[layer][component] * project_onto_direction(h, self.directions[layer][component])
            ).astype(np.float32)
        return out


class PCARepReader:
    def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers, **kwargs):
        directions = {}
        for layer in hidden_layers:
            H = hidden_states[layer]
            self.H_train_means[layer] = H.mean(0, keepdims=True)
            directions[layer] = np.linalg.svd(H - H.mean(0))[2][: self.n_components].astype(np.float32)
        return directions
