# Does not divide by the length of the direction.
import torch


def project_onto_direction(states, direction):
    rows, axis = torch.as_tensor(states).float(), torch.as_tensor(direction).float()
    return (rows @ axis).numpy()
