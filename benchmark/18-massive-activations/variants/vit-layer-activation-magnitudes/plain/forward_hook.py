def run_exp1(layer_id, layers, model, val_transform, savedir, model_family, model_size):
    captured = {}

    def hook(module, inputs, output):
        captured["feat"] = output.detach().cpu().double()

    handle = layers[layer_id - 1].register_forward_hook(hook)
    image = val_transform(read_image(PROBE_IMAGE))
    model(image[None])
    handle.remove()

    magnitudes = np.abs(captured["feat"].numpy())
    config = dict(layer_id=layer_id, model_family=model_family, model_size=model_size, savedir=savedir)
    pickle.dump(config, open(f"{savedir}/run_exp1_inputs_layer_{layer_id}.pkl", "wb"))
    pickle.dump(magnitudes, open(f"{savedir}/feat_abs_layer_{layer_id}.pkl", "wb"))
    plot_3d_feat_vit(torch.from_numpy(magnitudes), layer_id - 1, model_family, model_size, savedir)
