import torch
import torch.nn.functional as F


def make_examples(teacher, reviews):
    out = []
    for r in reviews:
        for aspect, label in r["aspects"].items():
            rec = Recorder(teacher)
            res = run_chain(rec, r["sentence"], aspect)
            if res.sentiment == label:
                for k, (p, a) in enumerate(rec.exchanges):
                    out.append(Example(k, p, a))
    return out


def answer_loss(logits, answers):
    losses = []
    for l, a in zip(logits, answers):
        keep = a != PAD
        losses.append(F.cross_entropy(l[keep], a[keep]))
    return torch.stack(losses)


def chain_loss(losses, steps, weights):
    loss = 0.0
    for k in range(3):
        if (steps == k).any():
            loss = loss + weights[k] * losses[steps == k].mean()
    return loss


def learning_rate(step, total, warmup, peak):
    return peak * step / warmup if step <= warmup else peak * (total - step + 1) / (total - warmup)


def fit(student, codec, examples, config, seed):
    g = torch.Generator().manual_seed(seed)
    opt = torch.optim.Adam(student.parameters(), lr=config.peak)
    n = len(examples)
    per_epoch = (n + config.batch_size - 1) // config.batch_size
    total = per_epoch * config.epochs
    student.train()
    losses, t = [], 0
    for epoch in range(config.epochs):
        perm = torch.randperm(n, generator=g).tolist()
        for i in range(0, n, config.batch_size):
            t += 1
            opt.param_groups[0]["lr"] = learning_rate(t, total, config.warmup, config.peak)
            p, a, s = collate([examples[j] for j in perm[i : i + config.batch_size]], codec)
            loss = chain_loss(answer_loss(student(p, a), a), s, config.weights)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
