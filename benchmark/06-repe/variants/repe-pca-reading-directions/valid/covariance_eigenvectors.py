import numpy as np
from scipy.linalg import eigh


def get_rep_directions(
    self, model: nn.Module, tokenizer: Any, hidden_states: States, hidden_layers: Layers, **kwargs: Any
) -> Directions:
    result: Directions = {}
    for layer in hidden_layers:
        states = hidden_states[layer]
        n, width = states.shape
        mean = np.mean(states, axis=0, dtype=np.float64, keepdims=True)
        self.H_train_means[layer] = mean.astype(states.dtype)
        centred = states - mean
        variances, vectors = eigh(centred.T @ centred / (n - 1))
        variances, vectors = variances[::-1], vectors[:, ::-1]
        limit = min(n, width)
        if self.n_components is None:
            count = limit
        elif isinstance(self.n_components, float):
            total, reached, count = variances.sum(), 0.0, 0
            while count < limit and reached <= self.n_components * total:
                reached += variances[count]
                count += 1
        else:
            count = self.n_components
            if count > limit:
                raise ValueError("too many components")
        self.n_components = count
        result[layer] = np.ascontiguousarray(vectors[:, :count].T, dtype=np.float32)
    return result
