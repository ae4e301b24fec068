# Uses the optimiser that the trainer has.
def trace_frontier(trainer, train_pairs, eval_pairs, config):
    batches = endless_batches(train_pairs, trainer.tokenizer, config.batch_size, config.seed)
    points = []
    for step in range(1, config.steps + 1):
        for group in trainer.optimizer.param_groups:
            group["lr"] = learning_rate(step, config.learning_rate, config.warmup_steps)
        loss, _ = trainer.get_batch_metrics(next(batches))
        trainer.optimizer.zero_grad()
        loss.backward()
        trainer.optimizer.step()
        if step % config.evaluate_every == 0:
            reviews = sample_reviews(trainer.policy, trainer.tokenizer, eval_pairs, config.samples, config.seed)
            divergences = review_divergences(trainer.policy, trainer.reference, reviews)
            points.append(FrontierPoint(step, reviews.sentiments.mean(), divergences.mean()))
    return points
