import torch


def next_symbol_distribution(logits, config):
    logits = torch.as_tensor(logits, dtype=torch.float64).clamp(-config.clip, config.clip)
    return torch.softmax(logits / config.temperature, dim=0).numpy()
