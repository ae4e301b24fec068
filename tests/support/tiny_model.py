"""Write a random Llama of 32 dimensions with a byte-level tokenizer, for Transformers and as GGUF; or serve the GGUF.

Runs in the servers' own environment: `python tiny_model.py FOLDER`, `python tiny_model.py FOLDER PORT KEY`.
"""

import json
import sys
import time
from pathlib import Path

#: Tokens that fit; llama.cpp refuses more.
CONTEXT = 12_288
WIDTH, HIDDEN, HEADS = 32, 64, 2
TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"
ENDS = ["<s>", "</s>"]
#: Weights: their names in Transformers and in llama.cpp.
NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"} | {
    f"model.layers.0.{theirs}": f"blk.0.{ours}"
    for theirs, ours in {
        "input_layernorm": "attn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "post_attention_layernorm": "ffn_norm",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }.items()
}


def write_model(folder: Path) -> None:
    """Write `folder`/tiny and `folder`/tiny.gguf."""
    import gguf
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=ENDS, initial_alphabet=alphabet, show_progress=False)
    raw.train_from_iterator(["def get_delta(matrix, group_option): return 0"], trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, bos_token=ENDS[0], eos_token=ENDS[1], pad_token=ENDS[1])
    tokenizer.model_max_length, tokenizer.chat_template = CONTEXT, TEMPLATE
    tokenizer.save_pretrained(folder / "tiny")
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        intermediate_size=HIDDEN,
        num_hidden_layers=1,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=CONTEXT,
    )
    model = LlamaForCausalLM(config)
    model.save_pretrained(folder / "tiny")

    writer = gguf.GGUFWriter(str(folder / "tiny.gguf"), "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_block_count(1)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(len(tokenizer))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    ids = tokenizer.get_vocab()
    tokens = sorted(ids, key=ids.__getitem__)
    writer.add_token_list(tokens)
    kinds = gguf.TokenType
    writer.add_token_types([kinds.CONTROL if token in ENDS else kinds.NORMAL for token in tokens])
    merges = json.loads(raw.to_str())["model"]["merges"]
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in merges])
    writer.add_bos_token_id(ids[ENDS[0]])
    writer.add_eos_token_id(ids[ENDS[1]])
    writer.add_chat_template(TEMPLATE)
    for name, tensor in model.state_dict().items():
        writer.add_tensor(f"{NAMES[name.removesuffix('.weight')]}.weight", tensor.float().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def serve(model: Path, port: int, key: str) -> None:
    """Serve a GGUF with llama.cpp's own HTTP server, until the process is ended."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.port, params.api_keys = str(model), port, [key]
    params.model_alias, params.n_ctx, params.n_parallel = {"tiny"}, CONTEXT, 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    target, *more = sys.argv[1:]
    if more:
        serve(Path(target) / "tiny.gguf", int(more[0]), more[1])
    else:
        write_model(Path(target))
