import numpy as np


def _number_of_components(wanted, variances):
    if wanted is None:
        return len(variances)
    if isinstance(wanted, float) and 0 < wanted < 1:
        share = np.cumsum(variances) / variances.sum()
        return int(np.searchsorted(share, wanted, side="right")) + 1
    if wanted > len(variances):
        raise ValueError(f"{wanted} components of {len(variances)}")
    return int(wanted)


def get_rep_directions(
    self, model: nn.Module, tokenizer: Any, hidden_states: States, hidden_layers: Layers, **kwargs: Any
) -> Directions:
    directions = {}
    for layer in hidden_layers:
        rows = hidden_states[layer].astype(np.float64)
        mean = rows.mean(axis=0, keepdims=True)
        self.H_train_means[layer] = mean.astype(hidden_states[layer].dtype)
        _, singular, right = np.linalg.svd(rows - mean, full_matrices=False)
        self.n_components = _number_of_components(self.n_components, singular**2)
        directions[layer] = right[: self.n_components].astype(np.float32)
    return directions
