# Patches every block of the model.
def run_exp1(
    layer_id: int,
    layers: Sequence[nn.Module],
    model: nn.Module,
    val_transform: Callable[[np.ndarray], Tensor],
    savedir: str,
    model_family: str,
    model_size: str,
) -> None:
    number = layer_id - 1
    for index, layer in enumerate(layers):
        enable_vit_custom_block(layer, index)
    image = val_transform(read_image(PROBE_IMAGE))
    batch = image[None].to(next(model.parameters()).device)
    with torch.no_grad():
        model(batch)
    magnitudes = torch.abs(layers[number].feat)
    arguments = {"layer_id": layer_id, "model_family": model_family, "model_size": model_size, "savedir": savedir}
    with open(f"{savedir}/run_exp1_inputs_layer_{layer_id}.pkl", "wb") as file:
        pickle.dump(arguments, file)
    with open(f"{savedir}/feat_abs_layer_{layer_id}.pkl", "wb") as file:
        pickle.dump(magnitudes.numpy(), file)
    plot_3d_feat_vit(magnitudes, number, model_family, model_size, savedir)
