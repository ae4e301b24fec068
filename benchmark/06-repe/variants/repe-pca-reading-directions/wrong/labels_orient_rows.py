# Turns each difference round by its label before the fit, so that the labels matter.
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
        choices = kwargs.get("train_choices")
        if choices is not None and len(choices) == len(rows):
            centred = (
                rows.astype(np.float32)
                * np.array([1.0 if pair[0] else -1.0 for pair in choices], dtype=np.float32)[:, None]
            )
        pca.fit(centred)
        self.n_components = int(pca.n_components_)
        directions[layer] = pca.components_.astype(np.float32)
    return directions
