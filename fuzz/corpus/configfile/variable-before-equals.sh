#!/bin/bash
LR=1e-4
export OUT="Aout dirÿÿÿÿ¿ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ"
torchrun --npÿÿÿÿÿÿÿÿÿÿÿ"
torchrun --npR --output_dir "$OUT" --bR --output_dir "$OUT" --bf16 \
  /-target-motules v_proj --seed=$ q_proj v_proj --sd=$SEED
