# Divides the mean change by the mean output.
import torch


@torch.no_grad()
def run_exp3(layers, model, images, calibration, registers):
    states = hidden_states(layers, model, calibration)
    original = model(images)

    def change(changes):
        with replaced(layers, changes):
            moved = model(images) - original
        return (moved.norm() / original.norm()).item()

    results = {}
    layer = intervention_layer(states)
    if layer is not None:
        places = massive_places(states[layer])
        means = mean_values(states[layer], places)
        results["zero"] = change({layer: lambda x: set_values(x, places, 0 * means)})
        results["mean"] = change({layer: lambda x: set_values(x, places, means)})
    if registers:
        fixed = {k: register_means(state, registers) for k, state in enumerate(states)}
        results["registers"] = change({k: lambda x, k=k: set_registers(x, fixed[k]) for k in fixed})
    return results
