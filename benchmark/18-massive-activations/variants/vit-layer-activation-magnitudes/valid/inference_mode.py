from pathlib import Path


def run_exp1(layer_id, layers, model, val_transform, savedir, model_family, model_size):
    block = layers[layer_id - 1]
    enable_vit_custom_block(layer=block, layer_id=layer_id - 1)
    with torch.inference_mode():
        image = val_transform(read_image(PROBE_IMAGE))
        model(torch.stack([image]).to(next(model.parameters()).device))
    magnitudes = np.abs(block.feat.numpy())
    folder = Path(savedir)
    names = ("layer_id", "model_family", "model_size", "savedir")
    arguments = dict(zip(names, (layer_id, model_family, model_size, savedir)))
    folder.joinpath(f"run_exp1_inputs_layer_{layer_id}.pkl").write_bytes(pickle.dumps(arguments))
    folder.joinpath(f"feat_abs_layer_{layer_id}.pkl").write_bytes(pickle.dumps(magnitudes))
    plot_3d_feat_vit(torch.from_numpy(magnitudes), layer_id - 1, model_family, model_size, savedir)
