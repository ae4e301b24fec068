import torch


def token_matches(similarity, ref_masks, hyp_masks):
    outside = (hyp_masks.unsqueeze(2) * ref_masks.unsqueeze(1)) == 0
    similarity = similarity.masked_fill(outside, -torch.inf)

    def best(similarity):
        two = similarity.topk(min(2, similarity.size(2)), dim=2).values
        real = two.isfinite()
        return two.masked_fill(~real, 0.0).sum(2) / real.sum(2).clamp(min=1)

    return best(similarity), best(similarity.transpose(1, 2))
