# scikit-learn's components, and loops over pairs.
import numpy as np
from sklearn.decomposition import PCA


def project_onto_direction(states, direction):
    states = torch.as_tensor(states, dtype=torch.float32)
    direction = torch.as_tensor(direction, dtype=torch.float32)
    return (states @ (direction / torch.norm(direction))).numpy()


class RepReader:
    def get_signs(self, hidden_states, train_choices, hidden_layers):
        signs = {}
        for layer in hidden_layers:
            layer_signs = np.zeros(len(self.directions[layer]), dtype=int)
            for i, direction in enumerate(self.directions[layer]):
                coords = project_onto_direction(hidden_states[layer], direction)
                wins, losses = 0, 0
                for k, labels in enumerate(train_choices):
                    pos = 2 * k + list(labels).index(1)
                    neg = 2 * k + list(labels).index(0)
                    if coords[pos] > coords[neg]:
                        wins += 1
                    elif coords[pos] < coords[neg]:
                        losses += 1
                layer_signs[i] = 1 if wins >= losses else -1
            signs[layer] = layer_signs
        return signs

    def transform(self, hidden_states, hidden_layers, component=0):
        scores = {}
        for layer in hidden_layers:
            states = np.array(hidden_states[layer])
            if layer in self.H_train_means:
                states = states - self.H_train_means[layer]
            projected = project_onto_direction(states, self.directions[layer][component])
            scores[layer] = (projected * self.direction_signs[layer][component]).astype(np.float32)
        return scores


class PCARepReader:
    def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers, **kwargs):
        directions = {}
        for layer in hidden_layers:
            H = np.asarray(hidden_states[layer])
            pca = PCA(n_components=self.n_components)
            pca.fit(H)
            self.H_train_means[layer] = np.mean(H, axis=0, keepdims=True)
            directions[layer] = pca.components_.astype(np.float32)
        return directions
