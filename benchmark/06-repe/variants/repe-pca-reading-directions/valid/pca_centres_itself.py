def get_rep_directions(
    self, model: nn.Module, tokenizer: Any, hidden_states: States, hidden_layers: Layers, **kwargs: Any
) -> Directions:
    def components_of(layer):
        states = hidden_states[layer]
        pca = PCA(n_components=self.n_components, svd_solver="full").fit(states.astype("float32"))
        self.H_train_means[layer] = states.mean(axis=0).reshape(1, -1)
        self.n_components = pca.n_components_
        return pca.components_

    return {layer: components_of(layer) for layer in hidden_layers}
