# Plain loop.
import torch


def learning_rate(step, peak, warmup_steps):
    return peak * min(1, step / warmup_steps)


def trace_frontier(trainer, train_pairs, eval_pairs, config):
    opt = torch.optim.RMSprop(trainer.policy.parameters(), lr=config.learning_rate)
    batches = endless_batches(train_pairs, trainer.tokenizer, config.batch_size, config.seed)
    points = []
    for t in range(1, config.steps + 1):
        for g in opt.param_groups:
            g["lr"] = learning_rate(t, config.learning_rate, config.warmup_steps)
        loss, _ = trainer.get_batch_metrics(next(batches))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if t % config.evaluate_every == 0:
            r = sample_reviews(trainer.policy, trainer.tokenizer, eval_pairs, config.samples, config.seed)
            kl = review_divergences(trainer.policy, trainer.reference, r)
            points.append(FrontierPoint(t, r.sentiments.mean(), kl.mean()))
    return points
