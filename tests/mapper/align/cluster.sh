#!/bin/bash
# A run with every parallel part, for the alignment ladder: 64 devices, experts, latent attention.
MODEL_ARGS=(
    --num-layers 16
    --hidden-size 512
    --ffn-hidden-size 1024
    --num-attention-heads 8
    --multi-latent-attention
    --q-lora-rank 192
    --kv-lora-rank 128
    --qk-head-dim 64
    --qk-pos-emb-head-dim 32
    --v-head-dim 64
    --seq-length 1024
    --max-position-embeddings 4096
    --normalization RMSNorm
    --norm-epsilon 1e-6
    --qk-layernorm
    --swiglu
    --disable-bias-linear
    --untie-embeddings-and-output-weights
    --position-embedding-type rope
    --no-rope-fusion
    --hidden-dropout 0.1
    --attention-dropout 0.1
)
MOE_ARGS=(
    --num-experts 8
    --moe-layer-freq '([0]*2+[1]*14)'
    --moe-ffn-hidden-size 256
    --moe-shared-expert-intermediate-size 256
    --moe-shared-expert-overlap
    --moe-router-topk 2
    --moe-router-load-balancing-type seq_aux_loss
    --moe-aux-loss-coeff 0.001
    --moe-router-dtype fp32
    --moe-token-dispatcher-type alltoall
    --moe-grouped-gemm
)
TRAINING_ARGS=(
    --micro-batch-size 1
    --global-batch-size 64
    --train-iters 1000
    --lr 1e-4
    --min-lr 1e-5
    --lr-decay-style cosine
    --lr-warmup-iters 50
    --adam-eps 1e-6
    --weight-decay 0.1
    --bf16
    --seed 1234
    --recompute-granularity full
    --recompute-method block
    --recompute-num-layers 2
    --log-interval 10
    --load /checkpoints/full
)
PARALLEL_ARGS=(
    --tensor-model-parallel-size 2
    --pipeline-model-parallel-size 4
    --num-layers-per-virtual-pipeline-stage 2
    --context-parallel-size 2
    --expert-model-parallel-size 2
    --sequence-parallel
    --use-distributed-optimizer
)
DATA_ARGS=(
    --data-path /data/corpus_text_document
    --split 1,0,0
    --tokenizer-type NullTokenizer
    --vocab-size 32001
)
torchrun --nproc_per_node 8 --nnodes 8 pretrain_gpt.py \
    "${MODEL_ARGS[@]}" "${MOE_ARGS[@]}" "${TRAINING_ARGS[@]}" "${PARALLEL_ARGS[@]}" "${DATA_ARGS[@]}"
