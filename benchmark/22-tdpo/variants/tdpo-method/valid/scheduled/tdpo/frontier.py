# Lets a scheduler set the learning rate, and measures in a function of its own.
import torch


def learning_rate(step, peak, warmup_steps):
    return peak if step >= warmup_steps else peak / warmup_steps * step


def measure(trainer, step, pairs, config):
    reviews = sample_reviews(trainer.policy, trainer.tokenizer, pairs, config.samples, config.seed)
    with torch.no_grad():
        logits, reference_logits = trainer.policy(reviews.input_ids), trainer.reference(reviews.input_ids)
        divergences = get_batch_statistics(logits, reference_logits, reviews.labels).position_kl
    return FrontierPoint(step, reviews.sentiments.sum() / len(reviews.sentiments), divergences.mean())


def trace_frontier(trainer, train_pairs, eval_pairs, config):
    optimizer = torch.optim.RMSprop(trainer.policy.parameters(), lr=1.0)
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda done: learning_rate(done + 1, config.learning_rate, config.warmup_steps)
    )
    batches = endless_batches(train_pairs, trainer.tokenizer, config.batch_size, config.seed)
    points = []
    for step, batch in zip(range(1, config.steps + 1), batches):
        optimizer.zero_grad()
        trainer.get_batch_metrics(batch)[0].backward()
        optimizer.step()
        rate.step()
        if not step % config.evaluate_every:
            points.append(measure(trainer, step, eval_pairs, config))
    return points
