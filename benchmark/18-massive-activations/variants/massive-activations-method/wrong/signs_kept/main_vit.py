# Saves the activations with their signs.
import os
import pickle

import torch


def run_exp1(layer_id, layers, model, val_transform, savedir, model_family, model_size):
    index = layer_id - 1
    enable_vit_custom_block(layers[index], index)
    with torch.no_grad():
        model(val_transform(read_image(PROBE_IMAGE)).unsqueeze(0))
    feat = layers[index].feat
    inputs = {"layer_id": layer_id, "model_family": model_family, "model_size": model_size, "savedir": savedir}
    with open(os.path.join(savedir, f"run_exp1_inputs_layer_{layer_id}.pkl"), "wb") as file:
        pickle.dump(inputs, file)
    with open(os.path.join(savedir, f"feat_abs_layer_{layer_id}.pkl"), "wb") as file:
        pickle.dump(feat.numpy(), file)
    plot_3d_feat_vit(feat.abs(), index, model_family, model_size, savedir)
