# Takes the singular vectors of the rows without centring them.
def get_rep_directions(
    self, model: nn.Module, tokenizer: Any, hidden_states: States, hidden_layers: Layers, **kwargs: Any
) -> Directions:
    directions = {}
    for layer in hidden_layers:
        rows = np.asarray(hidden_states[layer])
        mean = rows.mean(axis=0, keepdims=True)
        self.H_train_means[layer] = mean
        limit = self.n_components or min(rows.shape)
        if limit > min(rows.shape):
            raise ValueError("too many components")
        right = np.linalg.svd(rows.astype(np.float32), full_matrices=False)[2]
        limit = int(limit) if limit >= 1 else PCA(n_components=limit).fit(rows.astype(np.float32)).n_components_
        self.n_components = int(limit)
        directions[layer] = right[: self.n_components]
    return directions
