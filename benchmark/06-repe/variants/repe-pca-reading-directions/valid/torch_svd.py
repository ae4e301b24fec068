def get_rep_directions(
    self, model: nn.Module, tokenizer: Any, hidden_states: States, hidden_layers: Layers, **kwargs: Any
) -> Directions:
    directions: Directions = {}
    for layer in hidden_layers:
        states = torch.tensor(hidden_states[layer])
        mean = states.double().mean(dim=0, keepdim=True).to(states.dtype)
        self.H_train_means[layer] = mean.numpy()
        centred = recenter(states, mean)
        _, singular, right = torch.linalg.svd(centred, full_matrices=False)
        wanted = self.n_components
        if wanted is None:
            wanted = singular.numel()
        elif 0 < wanted < 1:
            variances = singular.square()
            wanted = int((variances.cumsum(0) <= wanted * variances.sum()).sum()) + 1
        elif wanted > singular.numel():
            raise ValueError(f"n_components={wanted} is larger than {singular.numel()}")
        self.n_components = wanted
        directions[layer] = right[:wanted].clone().numpy()
    return directions
