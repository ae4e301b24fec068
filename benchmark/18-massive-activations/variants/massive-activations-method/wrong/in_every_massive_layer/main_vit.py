# Sets the values in every layer that has massive activations.
import torch


@torch.no_grad()
def run_exp3(layers, model, images, calibration, registers):
    states = hidden_states(layers, model, calibration)
    original = model(images)

    def change(changes):
        with replaced(layers, changes):
            moved = model(images) - original
        return (moved.norm(dim=1) / original.norm(dim=1)).mean().item()

    results = {}
    found = {k: massive_places(state) for k, state in enumerate(states) if massive_places(state)}
    if found:
        means = {k: mean_values(states[k], places) for k, places in found.items()}
        results["zero"] = change({k: lambda x, k=k: set_values(x, found[k], 0 * means[k]) for k in found})
        results["mean"] = change({k: lambda x, k=k: set_values(x, found[k], means[k]) for k in found})
    if registers:
        fixed = {k: register_means(state, registers) for k, state in enumerate(states)}
        results["registers"] = change({k: lambda x, k=k: set_registers(x, fixed[k]) for k in fixed})
    return results
