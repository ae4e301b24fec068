import monkey_patch.modify_vit
import lib.plot_utils_vit


@torch.no_grad()
def _magnitudes(block, model, batch):
    model(batch)
    return block.feat.clone().abs_()


def run_exp1(layer_id: int, layers, model, val_transform, savedir: str, model_family: str, model_size: str) -> None:
    block = layers[layer_id - 1]
    monkey_patch.modify_vit.enable_vit_custom_block(block, layer_id - 1)
    pixels = read_image(PROBE_IMAGE)
    batch = val_transform(pixels).unsqueeze(dim=0).to(device=next(iter(model.parameters())).device)
    feat_abs = _magnitudes(block, model, batch)
    with open(os.path.join(savedir, f"run_exp1_inputs_layer_{layer_id}.pkl"), "wb") as file:
        file.write(
            pickle.dumps(
                {
                    "layer_id": layer_id,
                    "model_family": model_family,
                    "model_size": model_size,
                    "savedir": savedir,
                }
            )
        )
    feat_abs.numpy().dump(os.path.join(savedir, f"feat_abs_layer_{layer_id}.pkl"))
    lib.plot_utils_vit.plot_3d_feat_vit(
        feat=feat_abs, layer_id=layer_id - 1, model_name=model_family, model_size=model_size, savedir=savedir
    )
