import numpy as np
import torch


class LLM:
    @torch.no_grad()
    def get_hidden_states(self, prompt: str) -> np.ndarray:
        states = []

        def keep(_module, _args, out):
            states.append(out[0, -1])

        hooks = [layer.register_forward_hook(keep) for layer in self.model.layers]
        try:
            self.model(torch.tensor([self.tokenizer.encode(prompt)]))
        finally:
            for hook in hooks:
                hook.remove()
        return torch.stack(states).double().numpy()
