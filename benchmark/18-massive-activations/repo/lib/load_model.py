"""Seeded vision transformers, with a massive activation planted into those that have registers.

No weights are downloaded. Random weights have no massive activations, so one is written into them: a neuron of one
block's perceptron answers to a single register token and adds a huge number to one channel of it.
"""

from dataclasses import dataclass

import torch
from torch import nn

from lib.image import EvalTransform
from lib.vit import VisionTransformer, ViTConfig

#: Number of register tokens of each family.
REGISTERS = {"dinov2": 0, "dinov2_reg": 4}

#: Depth, width and heads of each size.
SIZES = {"tiny": (4, 32, 2), "small": (12, 96, 4)}


@dataclass(frozen=True)
class PlantedActivation:
    """Where the massive activation arises, counted from 0, and about how large it is."""

    block: int
    register: int
    marker_channel: int
    channel: int
    magnitude: float


#: The planted activation of each size.
PLANTED = {
    "tiny": PlantedActivation(block=2, register=2, marker_channel=5, channel=11, magnitude=1500.0),
    "small": PlantedActivation(block=8, register=2, marker_channel=20, channel=71, magnitude=2500.0),
}


def load_vit(model_family: str, model_size: str, seed: int = 0) -> tuple[nn.Module, list[nn.Module], EvalTransform]:
    """Build a model.

    Returns:
        The model in evaluation mode, the list of its blocks, and its evaluation transform.

    Raises:
        ValueError: unknown family or size.
    """
    if model_family not in REGISTERS or model_size not in SIZES:
        raise ValueError(f"no model {model_family!r} of size {model_size!r}; see REGISTERS and SIZES")
    depth, width, heads = SIZES[model_size]
    config = ViTConfig(depth=depth, width=width, heads=heads, registers=REGISTERS[model_family])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = VisionTransformer(config)
    if config.registers:
        _plant(model, PLANTED[model_size])
    return model.eval(), list(model.blocks), EvalTransform(config.image_size)


@torch.no_grad()
def _plant(model: VisionTransformer, planted: PlantedActivation) -> None:
    """Mark one register in a channel that the other tokens leave empty, and let one neuron of a block look for it."""
    marker = planted.marker_channel
    for tokens in (model.cls_token, model.register_tokens, model.pos_embed):
        tokens[..., marker] = 0
    model.patch_embed.weight[marker] = 0
    model.patch_embed.bias[marker] = 0
    model.register_tokens[0, planted.register, marker] = 12

    block = model.blocks[planted.block]
    normed = (model.register_tokens.size(-1) ** 0.5) * 0.75  # about what the layer norm makes of the marker
    block.mlp.fc1.weight[0] = 0
    block.mlp.fc1.weight[0, marker] = 1
    block.mlp.fc1.bias[0] = -0.6 * normed
    block.mlp.fc2.weight[:, 0] = 0
    block.mlp.fc2.weight[planted.channel, 0] = planted.magnitude / (block.ls2.gamma[planted.channel] * 0.4 * normed)
