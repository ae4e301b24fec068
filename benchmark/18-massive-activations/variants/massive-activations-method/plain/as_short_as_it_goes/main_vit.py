# In the order of the paper.
import os
import pickle

import torch


def run_exp1(layer_id, layers, model, val_transform, savedir, model_family, model_size):
    idx = layer_id - 1
    enable_vit_custom_block(layers[idx], idx)
    img = val_transform(read_image(PROBE_IMAGE)).unsqueeze(0)
    with torch.no_grad():
        model(img)
    feat_abs = layers[idx].feat.abs()
    args = {"layer_id": layer_id, "model_family": model_family, "model_size": model_size, "savedir": savedir}
    with open(os.path.join(savedir, f"run_exp1_inputs_layer_{layer_id}.pkl"), "wb") as f:
        pickle.dump(args, f)
    with open(os.path.join(savedir, f"feat_abs_layer_{layer_id}.pkl"), "wb") as f:
        pickle.dump(feat_abs.numpy(), f)
    plot_3d_feat_vit(feat_abs, idx, model_family, model_size, savedir)


@torch.no_grad()
def run_exp3(layers, model, images, calibration, registers):
    states = hidden_states(layers, model, calibration)
    base = model(images)
    out = {}

    def effect(changes):
        with replaced(layers, changes):
            new = model(images)
        return ((new - base).norm(dim=-1) / base.norm(dim=-1)).mean().item()

    first = intervention_layer(states)
    if first is not None:
        places = massive_places(states[first])
        means = mean_values(states[first], places)
        out["zero"] = effect({first: lambda s: set_values(s, places, torch.zeros(len(places)))})
        out["mean"] = effect({first: lambda s: set_values(s, places, means)})
    if registers:
        reg = {i: register_means(s, registers) for i, s in enumerate(states)}
        out["registers"] = effect({i: lambda s, m=m: set_registers(s, m) for i, m in reg.items()})
    return out


@torch.no_grad()
def run_exp4(layers, model, images):
    states = hidden_states(layers, model, images)
    out = []
    for i in range(1, len(layers)):
        h = states[i - 1]
        tokens = sorted({t for t, c in massive_places(h)})
        if len(tokens) == 0:
            continue
        q, k, v = layers[i].attn.project(layers[i].norm1(h))
        p = attention_weights(q, k)
        bias, rest = split_output(p, v, tokens)
        out.append((p[:, :, :, tokens].sum(dim=-1).mean().item(), bias.norm(dim=-1).mean().item()))
    return out
