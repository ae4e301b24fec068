# Cross-entropy that ignores the filling, a weight for each example, and one schedule object.
import torch
import torch.nn.functional as F


def make_examples(teacher, reviews):
    def chain_of(sentence, aspect, label):
        recorder = Recorder(teacher)
        result = run_chain(recorder, sentence, aspect)
        if result.sentiment != label:
            return []
        return [Example(step=k, prompt=p, answer=a) for k, (p, a) in enumerate(recorder.exchanges)]

    pairs = [(review["sentence"], *item) for review in reviews for item in review["aspects"].items()]
    return [example for pair in pairs for example in chain_of(*pair)]


def answer_loss(logits, answers):
    losses = F.cross_entropy(logits.transpose(1, 2), answers, ignore_index=PAD, reduction="none")
    return losses.sum(dim=1) / answers.ne(PAD).sum(dim=1)


def chain_loss(losses, steps, weights):
    counts = torch.bincount(steps, minlength=len(weights)).to(losses.dtype)
    shares = torch.tensor(weights, dtype=losses.dtype) / counts.clamp(min=1)
    return (losses * shares[steps]).sum()


def learning_rate(step, total, warmup, peak):
    rising = step / warmup if warmup else 1.0
    falling = (total - step + 1) / (total - warmup) if total > warmup else 1.0
    return peak * (rising if step <= warmup else falling)


def fit(student, codec, examples, config, seed):
    generator = torch.Generator().manual_seed(seed)
    orders = [torch.randperm(len(examples), generator=generator).tolist() for _ in range(config.epochs)]
    size = config.batch_size
    batches = [order[first : first + size] for order in orders for first in range(0, len(order), size)]
    optimizer = torch.optim.Adam(student.parameters(), lr=1.0)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda done: learning_rate(min(done + 1, len(batches)), len(batches), config.warmup, config.peak)
    )
    student.train()
    history = []
    for batch in batches:
        prompts, answers, steps = collate([examples[index] for index in batch], codec)
        optimizer.zero_grad()
        loss = chain_loss(answer_loss(student(prompts, answers), answers), steps, config.weights)
        loss.backward()
        optimizer.step()
        scheduler.step()
        history.append(float(loss))
    return history
