# Matches tokens one to one with the best assignment, instead of greedily.
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor


def greedy_cos_idf(
    ref_embedding: Tensor,
    ref_masks: Tensor,
    ref_idf: Tensor,
    hyp_embedding: Tensor,
    hyp_masks: Tensor,
    hyp_idf: Tensor,
) -> Tensor:
    hyp_units = hyp_embedding / hyp_embedding.norm(dim=-1, keepdim=True)
    ref_units = ref_embedding / ref_embedding.norm(dim=-1, keepdim=True)
    similarity = torch.bmm(hyp_units, ref_units.transpose(1, 2))
    mask = (hyp_masks.bool().unsqueeze(2) & ref_masks.bool().unsqueeze(1)).to(similarity)
    similarity = similarity * mask

    word_precision, word_recall = torch.zeros_like(similarity[:, :, 0]), torch.zeros_like(similarity[:, 0, :])
    for i, matrix in enumerate(similarity.nan_to_num()):
        hyp_places, ref_places = map(torch.from_numpy, linear_sum_assignment(matrix.numpy(), maximize=True))
        word_precision[i, hyp_places] = matrix[hyp_places, ref_places]
        word_recall[i, ref_places] = matrix[hyp_places, ref_places]
    precision = (word_precision * hyp_idf / hyp_idf.sum(dim=1, keepdim=True)).sum(dim=1)
    recall = (word_recall * ref_idf / ref_idf.sum(dim=1, keepdim=True)).sum(dim=1)
    f1 = 2 * precision * recall / (precision + recall)
    return f1.masked_fill(f1.isnan(), 0.0)
