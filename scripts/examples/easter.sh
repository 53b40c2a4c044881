#!/bin/sh
# The date of Easter in the year SLURM_ARRAY_TASK_ID (the method of Meeus, Jones and Butcher).
#SBATCH --array=2001-2049:2
y=$SLURM_ARRAY_TASK_ID
a=$((y % 19)) b=$((y / 100)) c=$((y % 100))
h=$(((19 * a + b - b / 4 - (b - (b + 8) / 25 + 1) / 3 + 15) % 30))
l=$(((32 + 2 * (b % 4) + 2 * (c / 4) - h - c % 4) % 7))
m=$(((a + 11 * h + 22 * l) / 451))
n=$((h + l - 7 * m + 114))
printf '%d-%02d-%02d\n' "$y" $((n / 31)) $((n % 31 + 1))
