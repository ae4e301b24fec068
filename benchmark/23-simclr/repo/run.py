"""Pretrain an encoder without labels on generated images, then compare features by linear evaluation."""

import argparse
from dataclasses import fields
from pathlib import Path

import torch
from data_aug.dataset import PATTERNS, pattern_images
from data_aug.views import Augmentation, ViewLoader
from feature_eval.linear_probe import extract, linear_probe
from models.encoder import ContrastiveEncoder
from optim.lars import LARS
from optim.schedule import Schedule, peak_rate
from simclr import SimCLR
from torch import nn
from utils import Config, load_checkpoint, save_checkpoint

UNLABELLED, LABELLED, TEST = 1024, 256, 1024  # images for pretraining, for the linear classifier and for its accuracy


def parse_args() -> argparse.Namespace:
    """One option for each field of Config, and those of the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    for field in fields(Config):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=type(field.default), default=field.default)
    parser.add_argument("--colour-strength", type=float, default=0.5, help="0 leaves colours as they are")
    checkpoint = parser.add_mutually_exclusive_group()
    checkpoint.add_argument("--save", type=Path, help="write the trained model to this file")
    checkpoint.add_argument("--load", type=Path, help="evaluate the model in this file instead of training one")
    return parser.parse_args()


def pretrain(model: nn.Module, args: Config, colour_strength: float) -> None:
    """Train encoder and projection head on views of unlabelled images."""
    images, _ = pattern_images(UNLABELLED, seed=args.seed + 1)
    augmentation = Augmentation(seed=args.seed + 2, colour_strength=colour_strength)
    loader = ViewLoader(images, augmentation, args.batch_size, args.n_views, seed=args.seed + 3)
    peak = peak_rate(args.reference_rate, args.batch_size)
    optimizer = LARS(model.parameters(), peak, args.momentum, args.weight_decay, args.trust)
    scheduler = Schedule(optimizer, peak, args.warmup_epochs * len(loader), args.epochs * len(loader))
    SimCLR(args=args, model=model, optimizer=optimizer, scheduler=scheduler).train(loader)


def evaluate(features: nn.Module, seed: int) -> float:
    """Accuracy of a linear classifier on frozen features of generated images."""
    train_images, train_labels = pattern_images(LABELLED, seed=seed + 4)
    test_images, test_labels = pattern_images(TEST, seed=seed + 5)
    return linear_probe(extract(features, train_images), train_labels, extract(features, test_images), test_labels)


def main() -> None:
    """Pretrain or load an encoder, and print how it compares with pixels and with its own random start."""
    options = vars(parse_args())
    colour_strength, save, load = (options.pop(name) for name in ("colour_strength", "save", "load"))
    args = Config(**options)

    torch.set_num_threads(1)  # the tensors are small: more threads cost more than they bring
    torch.manual_seed(args.seed)
    model = ContrastiveEncoder()
    results = {"pixels": evaluate(nn.Flatten(), args.seed), "random encoder": evaluate(model.backbone, args.seed)}

    if load:
        print(f"{load}, trained with {load_checkpoint(load, model)}")
    else:
        print(f"Contrastive pretraining on {UNLABELLED} images without labels")
        pretrain(model, args, colour_strength)
    if save:
        save_checkpoint(save, model, args)

    results["SimCLR encoder"] = evaluate(model.backbone, args.seed)
    results["guessing"] = 1 / len(PATTERNS)
    print(f"\nLinear evaluation, {LABELLED} labelled images, {len(PATTERNS)} patterns")
    for name, share in results.items():
        print(f"  {name:<15} {share:.3f}")


if __name__ == "__main__":
    main()
