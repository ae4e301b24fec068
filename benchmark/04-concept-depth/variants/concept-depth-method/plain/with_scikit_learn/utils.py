# A hook on each layer.
import numpy as np
import torch


class LLM:
    @torch.no_grad()
    def get_hidden_states(self, prompt):
        out = {}
        handles = []
        for i, layer in enumerate(self.model.layers):

            def hook(module, inputs, output, i=i):
                out[i] = output[0, -1, :].detach().double().cpu().numpy()

            handles.append(layer.post_attention_layernorm.register_forward_hook(hook))
        ids = torch.tensor([self.tokenizer.encode(prompt)])
        self.model(ids)
        for h in handles:
            h.remove()
        return np.stack([out[i] for i in range(len(self.model.layers))])
