"""Labelled inputs for repe-method: each function through its interface, and all of them together."""

import copy

import numpy as np
import torch
from lmrbench_cases import compare, experiment, goal
from repe.data import Contrast, lessons, load_statements, make_contrasts, make_pairs
from repe.lorra import LorraConfig, adapt, add_adapters, representation_loss, target_states
from repe.model import CausalLM, Tokenizer, train
from repe.rep_control import control, linear_combination, piecewise, projection
from repe.rep_readers import PCARepReader, RandomRepReader, project_onto_direction
from repe.rep_reading import RepReadingPipeline, get_hidden_states, pair_differences
from torch import Tensor

STATEMENTS = load_statements()
LESSONS = lessons(STATEMENTS)
#: Standard deviations along the principal axes: well apart, so that each axis is determined.
SPREADS = np.array([8.0, 5.0, 3.2, 2.0, 1.3, 0.8])


def normal(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def array(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng([60, seed]).normal(size=shape)


def make_model(seed: int, tokenizer: Tokenizer, layers: int = 3) -> CausalLM:
    """An untrained model in float64, with weights large enough for tokens to influence each other."""
    model = CausalLM(len(tokenizer), layers, width=16, heads=2, seed=seed).double().eval()
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.add_(0.15 * normal(100 * seed + number, *parameter.shape))
    return model


# --- reading ----------------------------------------------------------------------------------------------------------


@goal("get_hidden_states")
@compare(rtol=1e-6, atol=1e-8)
def case_hidden_states(seed):
    """Prompts of several lengths in batches of several sizes; some layers, the embeddings included."""
    torch.set_default_dtype(torch.float64)
    tokenizer = Tokenizer(LESSONS)
    model = make_model(seed, tokenizer)
    prompts = [STATEMENTS[(7 * k + seed) % 104].prompt for k in range(6)]
    prompts += [f"{prompt} {word}" for prompt in prompts[:3] for word in ("true", "false . It")] + ["A tool"]
    return {
        f"{size}": {layer: found.copy() for layer, found in get_hidden_states(*given, batch_size=size).items()}
        for size, given in ((64, (model, tokenizer, prompts, [-1, -3, 0])), (4, (model, tokenizer, prompts, [-2])))
    }


@goal("pair_differences")
@compare(rtol=1e-6, atol=1e-9)
def case_pair_differences(seed):
    """Pairs that differ much and little, around a large common part."""
    results = []
    for pairs, width in ((1, 5), (6, 4), (9, 12)):
        states = array(seed + width, 2 * pairs, width) * np.repeat(10.0 ** (np.arange(pairs) % 4 - 2), 2)[:, None]
        results.append(pair_differences(states + 3.0))
    return results


def planted(seed: int, n: int, width: int, mean: float) -> np.ndarray:
    """Rows (n, width) in float64 with the standard deviations SPREADS along random orthonormal axes."""
    scores, _ = np.linalg.qr(array(seed, n, len(SPREADS)) - array(seed, n, len(SPREADS)).mean(0))
    axes, _ = np.linalg.qr(array(seed + 500, width, len(SPREADS)))
    return np.sqrt(n) * scores * SPREADS @ axes.T + mean * array(seed + 900, width)


@goal("PCARepReader.get_rep_directions")
@compare(rtol=1e-3, atol=1e-3, sign_invariant=True)
def case_directions(seed):
    """Directions up to their sign, and the stored means; rows with a large mean, one much longer than the others."""
    states = {-1: planted(seed, 60, 12, 0.3), -2: planted(seed + 1, 60, 12, 20.0), -3: planted(seed + 2, 40, 12, 1.0)}
    states[-3][5] *= 12
    states[-4] = planted(seed + 3, 9, 30, 1.0)
    results = {}
    for count in (1, 2, 3):
        reader = PCARepReader(count)
        found = reader.get_rep_directions(None, None, states, [-3, -1, -2], train_choices=[[0, 1]])
        rows = {layer: [np.asarray(row, dtype=np.float32) for row in matrix] for layer, matrix in found.items()}
        means = {layer: np.ravel(mean).tolist() for layer, mean in reader.H_train_means.items()}
        results[f"{count}"] = [rows, {layer: matrix.shape for layer, matrix in found.items()}, means]
    return results


@goal("project_onto_direction")
@compare(rtol=1e-4, atol=1e-5)
def case_projection_of_rows(seed):
    """Directions of several lengths, as arrays and as tensors."""
    results = []
    for number, length in enumerate((0.05, 1.0, 7.0, 300.0)):
        rows, direction = array(10 * seed + number, 6, 9), length * array(10 * seed + number + 50, 9)
        results.append(project_onto_direction(rows.astype(np.float32), direction.astype(np.float32)))
        results.append(project_onto_direction(torch.tensor(rows), torch.tensor(direction)))
    return results


@goal("RepReader.get_signs")
@compare(exact=True)
def case_signs(seed):
    """Many directions; few large differences against many small ones; as many pairs one way as the other."""
    rng = np.random.default_rng([61, seed])
    reader = RandomRepReader(12)
    labels = [[1, 0] if draw < 0.5 else [0, 1] for draw in rng.random(25)]
    states = {layer: array(seed - 3 * layer, 50, 8).astype(np.float32) + 2.0 for layer in (-1, -2)}
    states[-1][:16] *= 8.0
    reader.directions = {layer: array(seed + 7 * layer + 90, 12, 8).astype(np.float32) for layer in states}
    found = [reader.get_signs(states, labels, [-2, -1])]

    # Whole numbers: two pairs of four rise with the label along the first axis, one along the second, three of them
    # by little along the third; the last axis does not change.
    gaps = np.array([[3, 1, 1, 0], [2, -1, 1, 0], [-9, -2, 1, 0], [-4, -1, -9, 0]], dtype=np.float32)
    choices = [[1, 0], [0, 1], [1, 0], [0, 1]]
    pairs = np.stack([gaps * (np.array(choices)[:, [k]]) + 1 + seed % 50 for k in (0, 1)], axis=1).reshape(8, 4)
    reader.directions = {-1: np.eye(4, dtype=np.float32)}
    found.append(reader.get_signs({-1: pairs}, choices, [-1]))
    return [{layer: np.asarray(signs).astype(int).tolist() for layer, signs in each.items()} for each in found]


@goal("RepReader.transform")
@compare(rtol=1e-3, atol=1e-4)
def case_transform(seed):
    """Unit directions of either sign, with and without a stored mean; the first and the second component."""
    reader = RandomRepReader(2)
    states = {layer: array(seed - layer, 7, 6).astype(np.float32) * (1 - layer) for layer in (-1, -2, -3)}
    for layer in states:
        reader.directions[layer] = np.linalg.qr(array(seed + 30 - layer, 6, 2))[0].T.astype(np.float32)
        reader.direction_signs[layer] = np.array([1, -1]) if (seed + layer) % 2 else np.array([-1, 1])
    reader.H_train_means = {layer: array(seed + 60 - layer, 1, 6).astype(np.float32) for layer in (-1, -3)}
    return [reader.transform(states, [-3, -1, -2], component) for component in (0, 1)]


# --- control ----------------------------------------------------------------------------------------------------------


def changed(operator, seed: int) -> list[Tensor]:
    """What an operator makes of states of several shapes, with vectors of several lengths."""
    results = []
    for number, (shape, length) in enumerate((((2, 3, 6), 1.0), ((5, 4), 0.1), ((1, 2, 8), 9.0), ((7,), 0.5))):
        states, vector = normal(seed + 10 * number, *shape), length * normal(seed + 10 * number + 5, shape[-1])
        results += [operator(states.clone(), vector), operator(states.clone(), -2 * vector)]
    return results


@goal("linear_combination")
@compare(rtol=1e-7, atol=1e-10)
def case_linear_combination(seed):
    return changed(linear_combination, seed)


@goal("piecewise")
@compare(rtol=1e-7, atol=1e-10)
def case_piecewise(seed):
    return changed(piecewise, seed)


@goal("projection")
@compare(rtol=1e-7, atol=1e-10)
def case_projection(seed):
    return changed(projection, seed)


# --- adaptation -------------------------------------------------------------------------------------------------------


@goal("target_states")
@compare(rtol=1e-7, atol=1e-10)
def case_target_states(seed):
    """With and without a reading vector, for several weights."""
    base, positive, negative = (normal(seed + 10 * k, 3, 4, 6) for k in range(3))
    return [
        target_states(base, positive, negative, vector, alpha, beta)
        for vector in (None, normal(seed + 50, 6))
        for alpha, beta in ((1.0, 0.5), (0.3, 2.0), (5.0, -1.0))
    ]


@goal("representation_loss")
@compare(rtol=1e-7, atol=1e-10)
def case_representation_loss(seed):
    """Masks of unequal length, with gradients; batches and examples of several sizes."""
    results = {}
    for number, lengths in enumerate(((3, 1, 2), (4,), (2, 5, 5, 1, 3), (1, 1))):
        mask = torch.arange(-max(lengths), 0) >= -torch.tensor(lengths)[:, None]
        current, target = (normal(seed + 10 * number + k, len(lengths), max(lengths), 5) for k in range(2))
        current.requires_grad_()
        loss = representation_loss(current, 3 * target, mask)
        loss.backward()
        results[f"{lengths}"] = [loss, current.grad]
    return results


def adapters(model: CausalLM) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in model.parameters() if parameter.requires_grad]


@goal("adapt")
@compare(rtol=1e-6, atol=1e-8)
def case_adapt(seed):
    """Responses of unequal length, one or two target layers, and reading vectors; the frozen model stays as it is."""
    torch.set_default_dtype(torch.float64)
    words = "a b c d e f g h i j k l m n".split()
    rng = np.random.default_rng([62, seed])
    data = []
    for number in range(12):
        question, response = (" ".join(rng.choice(words[2:], size)) for size in (3 + number % 2, 1 + number % 4))
        base = f"{question} {response}"
        data.append(Contrast(base, f"a a {base}", f"b {base}", response))
    tokenizer = Tokenizer(words)
    results = {}
    for name, layers, beta in (("last", (-1,), 0.0), ("two", (-1, -2), 0.7)):
        frozen = make_model(seed, tokenizer)
        model = copy.deepcopy(frozen)
        add_adapters(model, [0, 2], rank=2, seed=seed)
        config = LorraConfig(layers, 1.3, beta, steps=6, batch_size=5, learning_rate=1e-2, seed=seed + 3)
        vectors = {layer: normal(seed - layer, 16) for layer in layers} if beta else None
        losses = adapt(model, frozen, tokenizer, data, config, vectors)
        unchanged = [parameter.sum().detach() for parameter in frozen.parameters()]
        results[name] = [losses, adapters(model), unchanged]
    return results


@experiment
@compare(rtol=1e-3, atol=1e-4)
def case_read_control_adapt(seed):
    """Train a small model, read truth from it, control it with what was read, and adapt it towards an instruction."""
    torch.set_default_dtype(torch.float64)
    tokenizer = Tokenizer(LESSONS)
    model = CausalLM(len(tokenizer), layers=3, width=16, heads=2, seed=seed).double()
    loss = train(model, tokenizer, LESSONS, steps=60, batch_size=32)
    pipeline = RepReadingPipeline(model, tokenizer, [-3, -2, -1])
    reader = pipeline.get_directions(PCARepReader(2), make_pairs(STATEMENTS[:66], seed=seed))
    held_out = make_pairs(STATEMENTS[66:], seed=seed + 1).prompts
    states = get_hidden_states(model, tokenizer, held_out, pipeline.hidden_layers)
    scores = [reader.transform(states, pipeline.hidden_layers, component) for component in (0, 1)]

    tokens = tokenizer(held_out[:6])
    vectors = {layer: 1.5 * reader.direction_signs[layer][0] * reader.directions[layer][0] for layer in (-2, -1)}
    controlled = []
    for operator in (linear_combination, piecewise, projection):
        with torch.no_grad(), control(model, vectors, operator):
            controlled.append(model(tokens).logits[:, -1])

    adapted = copy.deepcopy(model)
    add_adapters(adapted, [1, 2], rank=2, seed=seed)
    config = LorraConfig((-2, -1), alpha=1.5, beta=0.5, steps=8, batch_size=8, learning_rate=5e-3, seed=seed)
    reading = {layer: torch.tensor(vector, dtype=torch.float64) for layer, vector in vectors.items()}
    losses = adapt(adapted, model, tokenizer, make_contrasts(STATEMENTS[:66]), config, reading)
    with torch.no_grad():
        logits = adapted(tokens).logits[:, -1]
    return {"loss": loss, "scores": scores, "controlled": controlled, "losses": losses, "adapted": logits}
