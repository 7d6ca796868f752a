#!/bin/bash
LR=5
torchrun --nproc_per_node 4 sft.py \
  --model_name_or_path org/model --output_dir out \
  --learning_rate $LR --per_device_train_batch_size 4 \
  --max_steps $STEPS --weight_decay 10 --bf16
