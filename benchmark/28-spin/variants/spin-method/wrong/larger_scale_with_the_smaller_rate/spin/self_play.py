# The second scale comes with the second learning rate.
def iteration_settings(iteration, config):
    if 2 * iteration < config.iterations:
        return config.beta, config.learning_rate
    return config.last_beta, config.later_learning_rate
