# Keeps the pairs of two iterations in names of their own; opponents are deep copies without gradients.
import copy


def training_pairs(written):
    if len(written) == 1:
        return list(written[0])
    *_, previous, latest = written
    return [*previous, *latest]


def self_play(policy, prompts, real, config, rng, generator):
    previous = []
    for iteration in range(config.iterations):
        opponent = copy.deepcopy(policy).requires_grad_(False)
        latest = write_pairs(opponent, prompts, real, config, generator)
        last = iteration + 1 == config.iterations
        beta = config.last_beta if last else config.beta
        rate = config.learning_rate if iteration < config.iterations / 2 else config.later_learning_rate
        trainer = SPINTrainer(policy, opponent, beta, config.loss_type)
        pairs = previous + latest
        training = TrainingConfig(config.epochs, config.batch_size, rate, config.reference_free)
        yield IterationRecord(beta, rate, pairs, trainer.train(pairs, training, rng), trainer)
        previous = latest
