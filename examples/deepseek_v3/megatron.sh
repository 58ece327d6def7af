#!/bin/bash
# A DeepSeek-V3-style model cut down for alignment: latent attention, routed experts, multi-token prediction.
# Megatron-LM core_r0.12.0, one device; the matching MindSpore Transformers run is mindformers.yaml.
set -euo pipefail

DATA_PATH=${DATA_PATH:-/data/corpus_text_document}
MICRO_BATCH=1
GLOBAL_BATCH=1

export CUDA_DEVICE_MAX_CONNECTIONS=1

MODEL_ARGS=(
    --num-layers 4
    --hidden-size 512
    --ffn-hidden-size 1024
    --num-attention-heads 8
    --multi-latent-attention
    --q-lora-rank 192
    --kv-lora-rank 128
    --qk-head-dim 64
    --qk-pos-emb-head-dim 32
    --v-head-dim 64
    --rotary-scaling-factor 40
    --mscale 1.0
    --mscale-all-dim 1.0
    --no-rope-fusion
    --seq-length 1024
    --max-position-embeddings 4096
    --position-embedding-type rope
    --rotary-base 10000
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

MOE_ARGS=(
    --num-experts 8
    --moe-layer-freq '([0]*1+[1]*3)'
    --moe-ffn-hidden-size 256
    --moe-shared-expert-intermediate-size 256
    --moe-router-topk 4
    --moe-router-score-function sigmoid
    --moe-router-num-groups 4
    --moe-router-group-topk 2
    --moe-router-topk-scaling-factor 2.5
    --moe-router-enable-expert-bias
    --moe-router-bias-update-rate 0.001
    --moe-router-dtype fp32
    --moe-router-load-balancing-type seq_aux_loss
    --moe-aux-loss-coeff 0.0001
    --moe-token-dispatcher-type alltoall
    --mtp-num-layers 1
    --mtp-loss-scaling-factor 0.1
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
    "${MOE_ARGS[@]}" \
    "${TRAINING_ARGS[@]}" \
    "${CHECKPOINT_ARGS[@]}" \
    "${DATA_ARGS[@]}"
