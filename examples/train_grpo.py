"""Train a model with TRL's GRPO on the verdicts of hidden tests, in a checkout of the repository.

    pip install -e '.[train]'
    python examples/train_grpo.py                                 # a tiny random model on a CPU
    python examples/train_grpo.py --model ORG/NAME --steps 500 --setting standard --instance dpo-preference-loss

Without `--model`, the model is a transformer with random weights whose vocabulary is whole answers: each token is a
variant of the task, right or wrong. It cannot write code; samples, scores, advantages and updates are real.
"""

import argparse
import csv
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lmrbench as lmr
from lmrbench.generation.paper_texts import paper_text
from lmrbench.generation.prompt import SETTINGS, build_prompt
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.dataset.rows import DatasetRow, choose_rows

VARIANTS = Path(__file__).resolve().parents[1] / "benchmark"
#: Reward of an answer that defines the function and passes nothing: less than one case is worth, so that no answer
#: gains by passing fewer cases.
SHAPING = 0.02
COLUMNS = ("step", "answers", "left_out", "reward", "share", "reproduced")


def shaped(score: lmr.Score) -> float | None:
    """Return the reward of an answer, from 0 to 1; None if the machinery failed."""
    if score.reward is None:
        return None
    return SHAPING * (score.status != "malformed") + (1 - SHAPING) * score.reward


class Reward:
    """The reward function: scores a batch of answers and appends their means to a CSV file."""

    __name__ = "lmrbench"

    def __init__(self, scorer: lmr.Scorer, out: Path) -> None:
        self._scorer, self._out = scorer, out
        out.parent.mkdir(parents=True, exist_ok=True)
        self._write(COLUMNS, "w")

    def __call__(
        self, completions: Sequence[Any], instance_id: Sequence[str], trainer_state: Any, **_: Any
    ) -> list[float | None]:
        """Return the reward of each completion; TRL leaves out those without one."""
        answers = [completion[-1]["content"] for completion in completions]
        pairs = zip(instance_id, answers, strict=True)
        scores = self._scorer.score([{"instance_id": name, "function": answer} for name, answer in pairs])
        rewards = [shaped(score) for score in scores]
        counted = [(reward, score) for reward, score in zip(rewards, scores, strict=True) if reward is not None]
        means = (
            sum(float(value) for value in values) / max(1, len(counted))
            for values in (
                [reward for reward, _ in counted],
                [score.reward or 0.0 for _, score in counted],
                [score.reproduced for _, score in counted],
            )
        )
        line = (
            trainer_state.global_step + 1,
            len(scores),
            len(scores) - len(counted),
            *(f"{mean:.4f}" for mean in means),
        )
        self._write(line, "a")
        print("  ".join(f"{name} {value}" for name, value in zip(COLUMNS, line, strict=True)), flush=True)
        return rewards

    def _write(self, line: Sequence[Any], mode: str) -> None:
        with self._out.open(mode, newline="", encoding="utf-8") as file:
            csv.writer(file).writerow(line)


def tiny_model(rows: Sequence[DatasetRow], prompts: Sequence[str]) -> tuple[Any, Any]:
    """Return a model with random weights, and its tokenizer: each prompt and each variant of a task is one token."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed

    set_seed(0)
    files = [path for row in rows for path in sorted(VARIANTS.glob(f"*/variants/{row['instance_id']}/*/*.py"))]
    special = ["<|pad|>", "<|end|>", "<|unknown|>"]
    words = [*special, *dict.fromkeys([*prompts, *(path.read_text(encoding="utf-8") for path in files)])]
    model = WordLevel({word: number for number, word in enumerate(words)}, unk_token=special[2])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(model),
        pad_token=special[0],
        eos_token=special[1],
        unk_token=special[2],
        chat_template="{{ messages[-1]['content'] }}",
        clean_up_tokenization_spaces=False,
    )
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=1,
    )
    return LlamaForCausalLM(config), tokenizer


def main() -> None:
    """Train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="", help="model on the Hub or in a folder (default: a tiny random one)")
    parser.add_argument("--instance", action="append", help="instance to train on (default: empathy-gap-delta)")
    parser.add_argument("--dataset", default="embedded")
    parser.add_argument("--setting", default="standard", choices=SETTINGS)
    parser.add_argument("--paper", default="text", help="form of the paper in the prompt")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--generations", type=int, default=8, help="answers per prompt")
    parser.add_argument("--max-tokens", type=int, default=2048, help="length of an answer of --model")
    parser.add_argument("--learning-rate", type=float, help="default: 1e-6, or 1e-2 for the tiny model")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--isolation", default="shared", choices=("shared", "container"))
    parser.add_argument("--sandbox", default="auto")
    parser.add_argument("--out", type=Path, default=Path("rewards.csv"))
    options = parser.parse_args()
    instances = options.instance or ["empathy-gap-delta"]

    import torch
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    rows = choose_rows(load_rows(options.dataset), instances)
    prompts = [build_prompt(row, setting=options.setting, paper=paper_text(row, options.paper)) for row in rows]
    model, tokenizer = options.model, None
    if not options.model:
        model, tokenizer = tiny_model(rows, [prompt.messages[-1]["content"] for prompt in prompts])
    columns = {
        "prompt": [list(prompt.messages) for prompt in prompts],
        "instance_id": [row["instance_id"] for row in rows],
    }
    gpu = torch.cuda.is_available()
    with (
        lmr.Scorer(
            dataset=options.dataset,
            instances=instances,
            workers=options.workers,
            isolation=options.isolation,
            sandbox=options.sandbox,
        ) as scorer,
        tempfile.TemporaryDirectory() as folder,
    ):
        trainer = GRPOTrainer(
            model=model,
            processing_class=tokenizer,
            reward_funcs=Reward(scorer, options.out),
            train_dataset=Dataset.from_dict(columns),
            args=GRPOConfig(
                output_dir=folder,
                max_steps=options.steps,
                num_generations=options.generations,
                per_device_train_batch_size=options.generations,
                max_completion_length=options.max_tokens if options.model else 1,
                learning_rate=options.learning_rate or (1e-6 if options.model else 1e-2),
                lr_scheduler_type="constant",
                bf16=gpu,
                use_cpu=not gpu,
                logging_steps=1,
                save_strategy="no",
                report_to="none",
                disable_tqdm=True,
                seed=0,
            ),
        )
        trainer.train()


if __name__ == "__main__":
    try:
        main()
    except lmr.LMRBenchError as error:
        sys.exit(f"error: {error}")
