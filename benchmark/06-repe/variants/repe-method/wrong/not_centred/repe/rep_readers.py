# Takes singular vectors of the rows without subtracting their mean.
import numpy as np


class PCARepReader:
    def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers, **kwargs):
        directions = {}
        for layer in hidden_layers:
            rows = hidden_states[layer]
            self.H_train_means[layer] = rows.mean(0, keepdims=True)
            _, _, axes = np.linalg.svd(rows, full_matrices=False)
            directions[layer] = axes[: self.n_components].astype(np.float32)
        return directions
