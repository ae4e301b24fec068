import numpy as np
import torch
from torch import Tensor


def greedy_cos_idf(
    ref_embedding: Tensor,
    ref_masks: Tensor,
    ref_idf: Tensor,
    hyp_embedding: Tensor,
    hyp_masks: Tensor,
    hyp_idf: Tensor,
) -> Tensor:
    sides = []
    for embedding, masks, idf in ((ref_embedding, ref_masks, ref_idf), (hyp_embedding, hyp_masks, hyp_idf)):
        vectors = embedding.numpy().astype(np.float64)
        with np.errstate(invalid="ignore"):
            units = vectors / np.sqrt((vectors**2).sum(axis=-1))[..., None]
        sides.append((units, masks.numpy().astype(np.float64), idf.numpy().astype(np.float64)))
    (ref, ref_real, ref_weights), (hyp, hyp_real, hyp_weights) = sides

    cosines = (ref[:, :, None, :] * hyp[:, None, :, :]).sum(axis=-1)
    cosines = cosines * ref_real[:, :, None] * hyp_real[:, None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        # Sorting puts NaN last, where the maximum is.
        recall = (np.sort(cosines, axis=2)[:, :, -1] * ref_weights).sum(axis=1) / ref_weights.sum(axis=1)
        precision = (np.sort(cosines, axis=1)[:, -1, :] * hyp_weights).sum(axis=1) / hyp_weights.sum(axis=1)
        f1 = 2 * precision * recall / (precision + recall)
    f1[np.isnan(f1)] = 0.0
    return torch.from_numpy(f1).to(ref_embedding.dtype)
