import numpy as np


def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers, **kwargs):
    result = {}
    for layer in hidden_layers:
        x = np.array(hidden_states[layer], dtype=np.float32)
        mu = x.mean(0)[None, :]
        self.H_train_means[layer] = mu
        cov = (x - mu).T @ (x - mu) / len(x)
        _, vecs = np.linalg.eigh(cov)
        result[layer] = vecs[:, ::-1].T[: self.n_components].astype(np.float32)
    return result
