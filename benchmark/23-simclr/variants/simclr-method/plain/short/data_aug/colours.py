# As short as it goes.
import torch


def distort_colours(images, numbers, strength):
    w = torch.tensor([0.299, 0.587, 0.114]).view(1, 3, 1, 1)

    def grey(x):
        return (w * x).sum(1, keepdim=True)

    u = numbers[:, :, None, None, None]
    a = 1 + 0.8 * strength * (2 * u - 1)
    x = (images * a[:, 0]).clamp(0, 1)
    m = grey(x).mean((1, 2, 3), keepdim=True)
    x = (m + a[:, 1] * (x - m)).clamp(0, 1)
    x = (grey(x) + a[:, 2] * (x - grey(x))).clamp(0, 1)
    x = torch.where(u[:, 3] < 0.8, x, images)
    return torch.where(u[:, 4] < 0.2, grey(x).expand_as(x), x)
