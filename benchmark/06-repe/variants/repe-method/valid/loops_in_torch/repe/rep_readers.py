# Principal components from the covariance in torch, signs by counting, the mean subtracted after projecting.
import numpy as np
import torch


def project_onto_direction(states, direction):
    axis = torch.as_tensor(direction).double()
    along = torch.as_tensor(states).double() @ axis / torch.sqrt(axis @ axis)
    return along.float().numpy()


class RepReader:
    def get_signs(self, hidden_states, train_choices, hidden_layers):
        result = {}
        for layer in hidden_layers:
            signs = []
            for direction in self.directions[layer]:
                along = project_onto_direction(hidden_states[layer], direction)
                up = down = 0
                for k, pair in enumerate(train_choices):
                    first, second = along[2 * k], along[2 * k + 1]
                    with_concept, without = (first, second) if pair[0] == 1 else (second, first)
                    up += with_concept > without
                    down += with_concept < without
                signs.append(1 if up >= down else -1)
            result[layer] = np.array(signs)
        return result

    def transform(self, hidden_states, hidden_layers, component=0):
        scores = {}
        for layer in hidden_layers:
            direction = self.directions[layer][component]
            along = project_onto_direction(hidden_states[layer], direction)
            if layer in self.H_train_means:
                along = along - project_onto_direction(self.H_train_means[layer], direction)
            scores[layer] = (along * self.direction_signs[layer][component]).astype(np.float32)
        return scores


class PCARepReader:
    def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers, **kwargs):
        found = {}
        for layer in hidden_layers:
            self.H_train_means[layer] = hidden_states[layer].mean(axis=0)[None]
            rows = torch.tensor(hidden_states[layer], dtype=torch.float64)
            _, axes = torch.linalg.eigh(torch.cov(rows.T))
            found[layer] = axes.flip(1)[:, : self.n_components].T.float().numpy()
        return found
