def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers, **kwargs):
    directions = {}
    for layer in hidden_layers:
        H = hidden_states[layer]
        self.H_train_means[layer] = H.mean(axis=0, keepdims=True)
        pca = PCA(n_components=self.n_components, whiten=False).fit(H)
        directions[layer] = pca.components_
    return directions
