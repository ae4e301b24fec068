def run_exp1(layer_id, layers, model, val_transform, savedir, model_family, model_size):
    model.eval()
    idx = layer_id - 1
    enable_vit_custom_block(layers[idx], idx)

    img = val_transform(read_image(PROBE_IMAGE)).unsqueeze(0)
    with torch.no_grad():
        _ = model(img)
    feat_abs = layers[idx].feat.abs()
    plot_3d_feat_vit(feat_abs, idx, model_family, model_size, savedir)

    inputs = {
        "layer_id": layer_id,
        "model_family": model_family,
        "model_size": model_size,
        "savedir": savedir,
    }
    with open(os.path.join(savedir, "run_exp1_inputs_layer_%d.pkl" % layer_id), "wb") as f:
        pickle.dump(inputs, f)
    with open(os.path.join(savedir, "feat_abs_layer_%d.pkl" % layer_id), "wb") as f:
        pickle.dump(feat_abs.numpy(), f)
