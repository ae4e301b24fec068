# Each step in names of its own.
import copy


def iteration_settings(iteration, config):
    is_last_iteration = iteration == config.iterations - 1
    if is_last_iteration:
        beta = config.last_beta
    else:
        beta = config.beta
    if iteration < config.iterations / 2:
        learning_rate = config.learning_rate
    else:
        learning_rate = config.later_learning_rate
    return beta, learning_rate


def training_pairs(written):
    pairs = []
    if len(written) > 1:
        pairs.extend(written[-2])
    pairs.extend(written[-1])
    return pairs


def self_play(policy, prompts, real, config, rng, generator):
    written = []
    for iteration in range(config.iterations):
        opponent = copy.deepcopy(policy)
        for parameter in opponent.parameters():
            parameter.requires_grad = False
        opponent.eval()
        written.append(write_pairs(opponent, prompts, real, config, generator))
        pairs = training_pairs(written)
        beta, learning_rate = iteration_settings(iteration, config)
        trainer = SPINTrainer(policy, opponent, beta=beta, loss_type=config.loss_type)
        training_config = TrainingConfig(
            epochs=config.epochs,
            batch_size=config.batch_size,
            learning_rate=learning_rate,
            reference_free=config.reference_free,
        )
        losses = trainer.train(pairs, training_config, rng)
        yield IterationRecord(beta=beta, learning_rate=learning_rate, pairs=pairs, losses=losses, trainer=trainer)
