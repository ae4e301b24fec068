"""Trains the toy model on a sloppy corpus and compares greedy, static and dynamic decoding on its facts."""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch
from dola.buckets import bucket_scores, layer_buckets
from dola.decoding import DolaOutput, dola_greedy_decode
from dola.divergence_plot import divergence_table, format_table
from dola.filters import LogitsProcessorList, RepetitionPenalty
from dola.model import EarlyExitLM, GenerationConfig, LMConfig
from dola.scoring import Question
from dola.tokenizer import WordTokenizer
from dola.training import CARELESS, POPULAR, Fact, TrainConfig, all_texts, load_facts, train

DATA = Path(__file__).parent / "data" / "facts.jsonl"
NEW_TOKENS = 4
#: Named settings: the arguments of the decoder that say which early layers it may use.
SETTINGS: dict[str, dict[str, int | list[int]]] = {
    **{f"static, layer {layer}": {"base_layer": layer} for layer in (1, 2, 3, 4)},
    "dynamic, layers 1 to 3": {"candidate_premature_layers": [1, 2, 3]},
    "dynamic, layers 2 to 4": {"candidate_premature_layers": [2, 3, 4]},
}


def first_words(tokenizer: WordTokenizer, new_ids: torch.Tensor) -> list[str]:
    """First words of continuations (batch, new)."""
    return [tokenizer.decode(row[:1]) for row in new_ids]


def greedy_answers(model: EarlyExitLM, tokenizer: WordTokenizer, facts: Sequence[Fact]) -> list[str]:
    """The word that the last layer finds most likely after each question."""
    ids, mask = tokenizer.pad([tokenizer.encode(fact.question) for fact in facts])
    with torch.no_grad():
        return first_words(tokenizer, model(ids, mask).logits[:, -1:].argmax(dim=-1))


def contrast_answers(
    model: EarlyExitLM,
    tokenizer: WordTokenizer,
    facts: Sequence[Fact],
    arguments: argparse.Namespace,
    setting: dict[str, int | list[int]],
) -> tuple[list[str], Counter[int]]:
    """Answers of contrastive decoding to each question, and how often each early layer was chosen."""
    answers: list[str] = []
    chosen: Counter[int] = Counter()
    for start in range(0, len(facts), arguments.batch_size):
        batch = facts[start : start + arguments.batch_size]
        ids, mask = tokenizer.pad([tokenizer.encode(fact.question) for fact in batch])
        length = ids.shape[-1]
        output = dola_greedy_decode(
            model,
            ids,
            mature_layer=model.config.layers,
            relative_top=arguments.relative_top,
            logits_processor=LogitsProcessorList([RepetitionPenalty(arguments.repetition_penalty)]),
            max_length=length + NEW_TOKENS,
            attention_mask=mask,
            **setting,
        )
        assert isinstance(output, DolaOutput)
        answers += first_words(tokenizer, output.sequences[:, length:])
        chosen.update(output.premature_layer_dist)
    return answers, chosen


def accuracies(facts: Sequence[Fact], answers: Sequence[str]) -> str:
    """Share of right answers for each kind of fact, as cells of a table."""
    cells = []
    for kind in CARELESS:
        hits = [answer == fact.answer for fact, answer in zip(facts, answers, strict=True) if fact.kind == kind]
        cells.append(f"{sum(hits) / len(hits):>15.0%}")
    return "".join(cells)


def multiple_choice(tokenizer: WordTokenizer, fact: Fact) -> Question:
    """Ask for a fact: its answer is true, all popular answers are false."""
    true, *false = (torch.tensor(tokenizer.encode(f"{word} .")[1:]) for word in (fact.answer, *POPULAR.values()))
    return Question(torch.tensor(tokenizer.encode(fact.question)), [true], false)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--relative-top", type=float, default=0.1, help="strength of the plausibility cut")
    parser.add_argument("--repetition-penalty", type=float, default=1.2)
    parser.add_argument("--batch-size", type=int, default=1, help="questions that share one choice of layer")
    parser.add_argument("--buckets", type=int, default=2, help="number of ranges that the layers are split into")
    parser.add_argument("--steps", type=int, default=TrainConfig.steps, help="training steps of the toy model")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    torch.set_num_threads(1)  # the tensors are too small to share between threads
    torch.manual_seed(arguments.seed)
    facts = load_facts(DATA)
    tokenizer = WordTokenizer(all_texts(facts))
    generation = GenerationConfig(tokenizer.pad_token_id, tokenizer.eos_token_id, return_dict_in_generate=True)
    model = EarlyExitLM(LMConfig(vocab_size=len(tokenizer)), generation)
    losses = train(model, tokenizer, facts, TrainConfig(steps=arguments.steps, seed=arguments.seed))
    print(f"trained on {len(facts)} facts: loss {losses[0]:.2f} -> {losses[-1]:.2f}\n")

    print(f"{'right answers':24}" + "".join(f"{kind:>15}" for kind in CARELESS) + "   steps that chose a layer")
    print(f"{'greedy, last layer':24}{accuracies(facts, greedy_answers(model, tokenizer, facts))}")
    for name, setting in SETTINGS.items():
        answers, chosen = contrast_answers(model, tokenizer, facts, arguments, setting)
        counts = ", ".join(f"{layer}: {count}" for layer, count in sorted(chosen.items()))
        print(f"{name:24}{accuracies(facts, answers)}   {counts}".rstrip())

    buckets = [bucket for bucket in layer_buckets(model.config.layers, arguments.buckets) if bucket]
    questions = [multiple_choice(tokenizer, fact) for fact in facts[::4]]
    qualities = bucket_scores(model, questions, buckets, model.config.layers, arguments.relative_top)
    print("\nvalidation scores: " + ", ".join(f"{b} {q:.3f}" for b, q in zip(buckets, qualities.tolist(), strict=True)))
    best = buckets[int(qualities.argmax())]
    answers, _ = contrast_answers(model, tokenizer, facts, arguments, {"candidate_premature_layers": best})
    print(f"{f'best bucket, {best}':24}{accuracies(facts, answers)}")

    fact = facts[2]
    text = f"{fact.question} {fact.answer} ."
    ids, _ = tokenizer.pad([tokenizer.encode(text)])
    layers = list(range(model.config.layers))
    print("\ndivergence of each layer from the last one before each token, in nats times 100,000")
    print(format_table(divergence_table(model, ids, layers), layers, text.split()))


if __name__ == "__main__":
    main()
