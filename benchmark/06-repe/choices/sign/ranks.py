import numpy as np
from scipy.stats import rankdata


class RepReader:
    def get_signs(self, hidden_states, train_choices, hidden_layers):
        labels = np.array(train_choices)
        signs = {}
        for layer in hidden_layers:
            found = []
            for direction in self.directions[layer]:
                pairs = project_onto_direction(hidden_states[layer], direction).reshape(-1, 2)
                gap = pairs[labels == 1] - pairs[labels == 0]
                found.append(1 if np.sum(rankdata(np.abs(gap)) * np.sign(gap)) >= 0 else -1)
            signs[layer] = np.array(found)
        return signs
