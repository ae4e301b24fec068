# Grey belongs to the jitter: an image that is not jittered keeps its colours.
def distort_colours(images, numbers, strength):
    u = numbers.to(images.dtype).view(len(images), NUMBERS, 1, 1, 1)
    a = 1 + 0.8 * strength * (2 * u - 1)
    x = (images * a[:, 0]).clamp(0, 1)
    mean = to_grey(x).mean(dim=(2, 3), keepdim=True)
    x = (mean + a[:, 1] * (x - mean)).clamp(0, 1)
    grey = to_grey(x)
    x = (grey + a[:, 2] * (x - grey)).clamp(0, 1)
    x = torch.where(u[:, 4] < 0.2, to_grey(x).expand_as(x), x)
    return torch.where(u[:, 3] < 0.8, x, images)


def to_grey(images):
    return (images * images.new_tensor([0.299, 0.587, 0.114]).view(3, 1, 1)).sum(1, keepdim=True)
