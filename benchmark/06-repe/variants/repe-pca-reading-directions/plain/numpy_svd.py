import numpy as np


def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers, **kwargs):
    directions = {}
    for layer in hidden_layers:
        mean = np.mean(hidden_states[layer], axis=0, keepdims=True)
        self.H_train_means[layer] = mean
        centred = recenter(hidden_states[layer], mean).numpy()
        _, _, vt = np.linalg.svd(centred, full_matrices=False)
        directions[layer] = vt[: self.n_components].astype(np.float32)
    return directions
