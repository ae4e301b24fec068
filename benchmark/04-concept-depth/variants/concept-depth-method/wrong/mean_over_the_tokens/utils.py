# Averages over the tokens of the prompt.
import numpy as np
import torch


class LLM:
    @torch.no_grad()
    def get_hidden_states(self, prompt: str) -> np.ndarray:
        x = self.model.embedding(torch.tensor([self.tokenizer.encode(prompt)]))
        states = []
        for layer in self.model.layers:
            x = x + layer.self_attn(layer.input_layernorm(x))
            states.append(layer.post_attention_layernorm(x)[0].mean(dim=0))
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        return torch.stack(states).double().numpy()
