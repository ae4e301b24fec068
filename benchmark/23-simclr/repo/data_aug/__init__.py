"""Generated images, their random augmentations, and the batches of views that training reads."""
