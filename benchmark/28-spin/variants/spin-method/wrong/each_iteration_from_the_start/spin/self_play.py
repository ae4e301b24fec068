# Each iteration starts from the fine-tuned model, with the last iterate as opponent.
def self_play(policy, prompts, real, config, rng, generator):
    written = []
    start = copy.deepcopy(policy)
    for t in range(config.iterations):
        opponent = copy.deepcopy(policy)
        policy.load_state_dict(start.state_dict())
        written.append(write_pairs(opponent, prompts, real, config, generator))
        pairs = training_pairs(written)
        beta, rate = iteration_settings(t, config)
        trainer = SPINTrainer(policy, opponent, beta, config.loss_type)
        training = TrainingConfig(config.epochs, config.batch_size, rate, config.reference_free)
        yield IterationRecord(beta, rate, pairs, trainer.train(pairs, training, rng), trainer)
