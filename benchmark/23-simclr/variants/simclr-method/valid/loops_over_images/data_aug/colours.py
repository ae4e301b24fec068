# One image at a time, with a lookup of luminance by a matrix product.
import torch


def distort_colours(images, numbers, strength):
    views = []
    for image, u in zip(images, numbers.tolist()):
        luminance = torch.tensor([[0.299, 0.587, 0.114]] * 3, dtype=image.dtype)

        def grey(x):
            return torch.einsum("ij,jhw->ihw", luminance, x)

        if u[3] < 0.8:
            a = [1 + 0.8 * strength * (2 * x - 1) for x in u[:3]]
            image = torch.clamp(image * a[0], 0, 1)
            mean = grey(image).mean()
            image = torch.clamp(a[1] * image + (1 - a[1]) * mean, 0, 1)
            image = torch.clamp(a[2] * image + (1 - a[2]) * grey(image), 0, 1)
        views.append(grey(image) if u[4] < 0.2 else image)
    return torch.stack(views)
