# One helper of its own for the change, and means over flattened weights.
import torch


@torch.no_grad()
def run_exp3(layers, model, images, calibration, registers):
    states = hidden_states(layers, model, calibration)
    settings = {}
    layer = intervention_layer(states)
    if layer is not None:
        places = massive_places(states[layer])
        means = mean_values(states[layer], places)
        settings["zero"] = {layer: lambda x: set_values(x, places, 0 * means)}
        settings["mean"] = {layer: lambda x: set_values(x, places, means)}
    if registers > 0:
        settings["registers"] = {
            k: (lambda x, mean=register_means(state, registers): set_registers(x, mean))
            for k, state in enumerate(states)
        }
    original = model(images)
    results = {}
    for name, changes in settings.items():
        with replaced(layers, changes):
            changed = model(images)
        distances = [float(torch.dist(a, b) / torch.linalg.vector_norm(b)) for a, b in zip(changed, original)]
        results[name] = sum(distances) / len(distances)
    return results


@torch.no_grad()
def run_exp4(layers, model, images):
    states = hidden_states(layers, model, images)
    found = []
    for number in range(1, len(layers)):
        tokens = list(dict.fromkeys(token for token, _ in massive_places(states[number - 1])))
        if not tokens:
            continue
        block = layers[number]
        query, key, value = block.attn.project(block.norm1(states[number - 1]))
        weights = attention_weights(query, key)
        first, _ = split_output(weights, value, tokens)
        share = weights[..., torch.tensor(tokens)].sum(dim=-1)
        found.append((float(share.mean()), float(first.square().sum(-1).sqrt().mean())))
    return found
