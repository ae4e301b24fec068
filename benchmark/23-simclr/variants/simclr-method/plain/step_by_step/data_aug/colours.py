# Each step in names of its own.
import torch


def luminance(pixels):
    red, green, blue = pixels.unbind(dim=1)
    return (0.299 * red + 0.587 * green + 0.114 * blue).unsqueeze(1)


def distort_colours(images, numbers, strength):
    distorted = images.clone()
    for index in range(len(images)):
        view = images[index : index + 1]
        u1, u2, u3, u4, u5 = numbers[index]
        if u4 < 0.8:
            brightness_factor = 1.0 + 0.8 * strength * (2 * u1 - 1)
            contrast_factor = 1.0 + 0.8 * strength * (2 * u2 - 1)
            saturation_factor = 1.0 + 0.8 * strength * (2 * u3 - 1)
            view = torch.clamp(view * brightness_factor, 0.0, 1.0)
            mean_luminance = luminance(view).mean()
            view = torch.clamp(mean_luminance + contrast_factor * (view - mean_luminance), 0.0, 1.0)
            pixel_luminance = luminance(view)
            view = torch.clamp(pixel_luminance + saturation_factor * (view - pixel_luminance), 0.0, 1.0)
        if u5 < 0.2:
            view = luminance(view).repeat(1, 3, 1, 1)
        distorted[index] = view[0]
    return distorted
