# Records the hidden state that enters the block, not the one that leaves it.
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
    entering = []
    hook = layers[number].register_forward_pre_hook(lambda module, args: entering.append(args[0]))
    with torch.no_grad():
        model(val_transform(read_image(PROBE_IMAGE))[None])
    hook.remove()
    magnitudes = entering[0].double().abs()
    arguments = {"layer_id": layer_id, "model_family": model_family, "model_size": model_size, "savedir": savedir}
    with open(f"{savedir}/run_exp1_inputs_layer_{layer_id}.pkl", "wb") as file:
        pickle.dump(arguments, file)
    with open(f"{savedir}/feat_abs_layer_{layer_id}.pkl", "wb") as file:
        pickle.dump(magnitudes.numpy(), file)
    plot_3d_feat_vit(magnitudes, number, model_family, model_size, savedir)
