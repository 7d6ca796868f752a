#!/bin/bash
LR=1e-4
export OUT="out dir"
torchrun --nproc_per_node 8 train.py \
  --learning_rate $LR --output_dir "$OUT" --bf16 \
  --target-modules q_proj v_proj --seed=$SEED
