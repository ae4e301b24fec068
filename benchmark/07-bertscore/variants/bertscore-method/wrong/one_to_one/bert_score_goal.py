# Assigns every token to a token of its own, so that the sum of similarities is largest.
from scipy.optimize import linear_sum_assignment


def token_matches(similarity, ref_masks, hyp_masks):
    hyp_best, ref_best = similarity.new_zeros(hyp_masks.shape), similarity.new_zeros(ref_masks.shape)
    for b, block in enumerate(similarity):
        block = block * hyp_masks[b, :, None] * ref_masks[b]
        rows, columns = linear_sum_assignment(block.numpy(), maximize=True)
        hyp_best[b, rows] = block[rows, columns]
        ref_best[b, columns] = block[rows, columns]
    return hyp_best, ref_best
