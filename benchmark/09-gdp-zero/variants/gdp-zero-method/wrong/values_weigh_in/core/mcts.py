# Weighs visits by the mean value of the action.
def action_weights(visits, values):
    return visits * (1 + values) / 2
