# The formulas of the paper, a line each.
import torch.nn.functional as F


def similarity_matrix(ref_embedding, hyp_embedding):
    return F.normalize(hyp_embedding, dim=-1) @ F.normalize(ref_embedding, dim=-1).transpose(1, 2)


def token_matches(similarity, ref_masks, hyp_masks):
    s = similarity * hyp_masks[:, :, None] * ref_masks[:, None, :]
    return s.max(2)[0], s.max(1)[0]


def side_score(matches, weights):
    return (weights * matches).sum(1) / weights.sum(1)


def combine(precision, recall):
    return 2 * precision * recall / (precision + recall)


def greedy_cos_idf(ref_embedding, ref_masks, ref_idf, hyp_embedding, hyp_masks, hyp_idf):
    s = similarity_matrix(ref_embedding, hyp_embedding)
    hyp, ref = token_matches(s, ref_masks, hyp_masks)
    return combine(side_score(hyp, hyp_idf), side_score(ref, ref_idf))
