def preference_pairs(rewards):
    offsets = rewards.size(1) * torch.arange(len(rewards))
    pairs = torch.stack([offsets + rewards.argmax(dim=1), offsets + rewards.argmin(dim=1)], dim=1)
    return pairs[rewards.amax(dim=1) > rewards.amin(dim=1)]
