# Uses pandas for ranks.
import pandas as pd
import torch


def length_correlation(scores, lengths):
    frame = pd.DataFrame({"score": scores.tolist(), "length": lengths.tolist()})
    value = frame["score"].rank().corr(frame["length"].rank())
    return torch.tensor(value, dtype=torch.float64)
