import contextlib

from torch import nn


@contextlib.contextmanager
def without_gradients():
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    try:
        yield
    finally:
        torch.set_grad_enabled(before)


def capture_magnitudes(block: nn.Module, number: int, model: nn.Module, image: torch.Tensor) -> torch.Tensor:
    """(1, N, C) float64."""
    enable_vit_custom_block(block, number)
    device = {parameter.device for parameter in model.parameters()}.pop()
    with without_gradients():
        model(image.to(device)[None, ...])
    feat = block.feat
    return torch.where(feat < 0, -feat, feat)


def save_pickles(folder: str, objects: dict[str, object]) -> None:
    for name, value in objects.items():
        with open(os.path.join(folder, name + ".pkl"), "wb") as file:
            pickle.dump(value, file, protocol=pickle.HIGHEST_PROTOCOL)


def run_exp1(layer_id, layers, model, val_transform, savedir, model_family, model_size) -> None:
    number = layer_id - 1
    image = val_transform(read_image(os.path.join(os.getcwd(), PROBE_IMAGE)))
    magnitudes = capture_magnitudes(layers[number], number, model, image)
    inputs = dict(savedir=savedir, model_size=model_size, model_family=model_family, layer_id=layer_id)
    save_pickles(
        savedir,
        {f"run_exp1_inputs_layer_{layer_id}": inputs, f"feat_abs_layer_{layer_id}": magnitudes.cpu().detach().numpy()},
    )
    plot_3d_feat_vit(magnitudes, number, model_family, model_size, savedir)
