# As short as it goes.
import copy


def iteration_settings(iteration, config):
    k = config.iterations
    return (
        config.last_beta if iteration == k - 1 else config.beta,
        config.learning_rate if iteration < k / 2 else config.later_learning_rate,
    )


def training_pairs(written):
    return sum(written[-2:], [])


def self_play(policy, prompts, real, config, rng, generator):
    written = []
    for t in range(config.iterations):
        opponent = copy.deepcopy(policy)
        written.append(write_pairs(opponent, prompts, real, config, generator))
        pairs = training_pairs(written)
        beta, rate = iteration_settings(t, config)
        trainer = SPINTrainer(policy, opponent, beta, config.loss_type)
        losses = trainer.train(
            pairs, TrainingConfig(config.epochs, config.batch_size, rate, config.reference_free), rng
        )
        yield IterationRecord(beta, rate, pairs, losses, trainer)
