def iteration_settings(iteration, config):
    if config.iterations == 1:
        return config.last_beta, config.learning_rate
    share = iteration / (config.iterations - 1)
    beta = config.beta * (config.last_beta / config.beta) ** share
    return beta, config.learning_rate * (config.later_learning_rate / config.learning_rate) ** share
