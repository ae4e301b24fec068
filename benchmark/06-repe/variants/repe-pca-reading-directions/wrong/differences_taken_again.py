# Subtracts the odd rows from the even ones, though rows are differences already.
def get_rep_directions(
    self, model: nn.Module, tokenizer: Any, hidden_states: States, hidden_layers: Layers, **kwargs: Any
) -> Directions:
    directions = {}
    for layer in hidden_layers:
        rows = np.asarray(hidden_states[layer])
        mean = rows.mean(axis=0, keepdims=True)
        self.H_train_means[layer] = mean
        pca = PCA(n_components=self.n_components)
        centred = rows.astype(np.float32) - mean.astype(np.float32)
        half = len(centred) // 2
        pca.fit(centred[0 : 2 * half : 2] - centred[1 : 2 * half : 2] if half > 1 else centred)
        self.n_components = int(pca.n_components_)
        directions[layer] = pca.components_.astype(np.float32)
    return directions
