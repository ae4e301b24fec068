def preference_pairs(rewards):
    ranked, order = rewards.sort(dim=1, descending=True, stable=True)
    order = order + rewards.size(1) * torch.arange(len(rewards)).unsqueeze(1)
    differ = ranked[:, :-1] != ranked[:, 1:]
    return torch.stack([order[:, :-1][differ], order[:, 1:][differ]], dim=1)
