# Resolves a share of variance or None anew in every layer and does not store the number.
def get_rep_directions(
    self, model: nn.Module, tokenizer: Any, hidden_states: States, hidden_layers: Layers, **kwargs: Any
) -> Directions:
    directions = {}
    for layer in hidden_layers:
        rows = np.asarray(hidden_states[layer])
        mean = rows.mean(axis=0, keepdims=True)
        self.H_train_means[layer] = mean
        pca = PCA(n_components=self.n_components)
        pca.fit(rows.astype(np.float32) - mean.astype(np.float32))
        directions[layer] = pca.components_.astype(np.float32)
    return directions
