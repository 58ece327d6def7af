#!/bin/bash
# A dense Qwen3-style model: grouped-query attention, RMSNorm, normalised queries and keys, SwiGLU.
# Megatron-LM core_r0.12.0, one device; the matching MindSpore Transformers run is mindformers.yaml.
set -euo pipefail

DATA_PATH=${DATA_PATH:-/data/corpus_text_document}
MICRO_BATCH=1
GLOBAL_BATCH=1

export CUDA_DEVICE_MAX_CONNECTIONS=1

MODEL_ARGS=(
    --transformer-impl local
    --no-persist-layer-norm
    --num-layers 4
    --hidden-size 512
    --ffn-hidden-size 1536
    --num-attention-heads 8
    --group-query-attention
    --num-query-groups 2
    --kv-channels 64
    --seq-length 1024
    --max-position-embeddings 4096
    --position-embedding-type rope
    --rotary-base 1000000
    --normalization RMSNorm
    --norm-epsilon 1.0e-6
    --qk-layernorm
    --swiglu
    --disable-bias-linear
    --untie-embeddings-and-output-weights
    --attention-dropout 0.0
    --hidden-dropout 0.0
    --init-method-std 0.02
)

TRAINING_ARGS=(
    --micro-batch-size "$MICRO_BATCH"
    --global-batch-size "$GLOBAL_BATCH"
    --train-iters 1000
    --lr 1.0e-4
    --min-lr 1.0e-5
    --lr-decay-style cosine
    --lr-decay-iters 1000
    --lr-warmup-iters 50
    --optimizer adam
    --adam-beta1 0.9
    --adam-beta2 0.95
    --adam-eps 1.0e-8
    --weight-decay 0.1
    --clip-grad 1.0
    --seed 1234
    --bf16
    --attention-softmax-in-fp32
    --tensor-model-parallel-size 1
    --pipeline-model-parallel-size 1
    --log-interval 1
    --eval-iters 0
)

DATA_ARGS=(
    --data-path "$DATA_PATH"
    --split 1,0,0
    --tokenizer-type NullTokenizer
    --vocab-size 31999 # the tokenizer adds one
)

# Both sides start from one checkpoint; `accmap weights convert` writes one from the other.
CHECKPOINT_ARGS=(
    --load checkpoints/megatron
    --finetune
    --exit-on-missing-checkpoint
)

torchrun --nproc_per_node 1 --nnodes 1 pretrain_gpt.py \
    "${MODEL_ARGS[@]}" \
    "${TRAINING_ARGS[@]}" \
    "${CHECKPOINT_ARGS[@]}" \
    "${DATA_ARGS[@]}"
