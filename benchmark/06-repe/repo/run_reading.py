"""Read truth from the hidden states of a toy model, then steer the model with what was read, and adapt it."""

import argparse
import copy

import numpy as np
import torch
from repe.data import ANSWERS, Statement, lessons, load_statements, make_contrasts, make_pairs
from repe.lorra import LorraConfig, adapt, add_adapters
from repe.model import CausalLM, Tokenizer, train
from repe.rep_control import Operator, control, linear_combination, piecewise, projection
from repe.rep_readers import ClusterMeanRepReader, PCARepReader, RandomRepReader, RepReader
from repe.rep_reading import RepReadingPipeline, get_hidden_states

HELD_OUT = 40  # statements, two a pair


@torch.no_grad()
def judged_true(model: CausalLM, tokenizer: Tokenizer, statements: list[Statement]) -> list[bool]:
    """Which statements the model calls true rather than false."""
    logits = model(tokenizer([item.prompt for item in statements])).logits[:, -1]
    return logits[:, [tokenizer.ids[answer] for answer in ANSWERS]].argmax(dim=1).bool().tolist()


def show_accuracies(pipeline: RepReadingPipeline, readers: dict[str, RepReader], statements: list[Statement]) -> None:
    """Fit each reader on all but the last statements and print its accuracy on these, a layer."""
    training, held_out = make_pairs(statements[:-HELD_OUT], seed=1), make_pairs(statements[-HELD_OUT:], seed=2)
    accuracies = [pipeline.accuracy(pipeline.get_directions(reader, training), held_out) for reader in readers.values()]
    print(f"\nWhich statement of a pair is true? Accuracy on {len(held_out.labels)} held-out pairs")
    print("  layer" + "".join(f"{name:>15s}" for name in readers))
    for layer in pipeline.hidden_layers:
        print(f"  {layer:5d}" + "".join(f"{accuracy[layer]:15.3f}" for accuracy in accuracies))


def show_control(pipeline: RepReadingPipeline, reader: RepReader, statements: list[Statement]) -> None:
    """Control the last layers by multiples of the signed directions; print how often the model then says true."""
    model, tokenizer = pipeline.model, pipeline.tokenizer
    layers = pipeline.hidden_layers[-2:]
    states = get_hidden_states(model, tokenizer, [item.prompt for item in statements], layers)
    size = {layer: float(np.linalg.norm(states[layer], axis=1).mean()) for layer in layers}
    print(f"\nShare of statements called true, with control of layers {layers} by the PCA direction")
    print(
        "(coefficient 1: as long as the mean hidden state)\n  operator             coefficient   true ones   false ones"
    )
    trials: list[tuple[Operator, float]] = [
        (linear_combination, coefficient) for coefficient in (-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0)
    ]
    for operator, coefficient in [*trials, (piecewise, 0.5), (projection, 1.0)]:
        vectors = {
            layer: coefficient * size[layer] * reader.direction_signs[layer][0] * reader.directions[layer][0]
            for layer in layers
        }
        with control(model, vectors, operator):
            verdicts = judged_true(model, tokenizer, statements)
        shares = [
            np.mean([v for v, item in zip(verdicts, statements, strict=True) if item.label == label])
            for label in (1, 0)
        ]
        print(f"  {operator.__name__:<20s}{coefficient:12.2f}{shares[0]:12.3f}{shares[1]:13.3f}")


def show_adaptation(model: CausalLM, tokenizer: Tokenizer, statements: list[Statement]) -> None:
    """Adapt a copy of the model on all but the last statements; print how often it calls the others true."""
    adapted = copy.deepcopy(model)
    add_adapters(adapted, range(1, len(model.layers)))
    config = LorraConfig(target_layers=(-2, -1), alpha=1.5)
    losses = adapt(adapted, model, tokenizer, make_contrasts(statements[:-HELD_OUT]), config)
    print(
        f"\nAdapters towards the instruction to trust, {config.steps} steps: loss {losses[0]:.2f} to {losses[-1]:.2f}"
    )
    for name, candidate in (("before", model), ("after", adapted)):
        share = np.mean(judged_true(candidate, tokenizer, statements[-HELD_OUT:]))
        print(f"  share of held-out statements called true {name}: {share:.3f}")


def main() -> None:
    """Train, read, steer, adapt."""
    torch.set_num_threads(1)  # the tensors are small: more threads cost more than they bring
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    statements = load_statements()
    texts = lessons(statements)
    tokenizer = Tokenizer(texts)
    model = CausalLM(len(tokenizer), seed=parser.parse_args().seed)
    loss = train(model, tokenizer, texts)
    verdicts = judged_true(model, tokenizer, statements)
    correct = np.mean([verdict == item.label for verdict, item in zip(verdicts, statements, strict=True)])
    print(f"Trained {len(model.layers)} layers on {len(texts)} texts: loss {loss:.3f}, right answers {correct:.3f}")

    pipeline = RepReadingPipeline(model, tokenizer, range(-len(model.layers), 0))
    readers = {"PCA": PCARepReader(), "cluster means": ClusterMeanRepReader(), "random": RandomRepReader()}
    show_accuracies(pipeline, readers, statements)
    show_control(pipeline, readers["PCA"], statements)
    show_adaptation(model, tokenizer, statements)


if __name__ == "__main__":
    main()
