#!/bin/sh
# A training that really resumes, in 30 lines of shell: adds up the first STEPS squares, saves every SAVE_EVERY steps.
#   stint run --checkpoint-dir ck -- sh train.sh
set -eu
steps=${STEPS:-1000} every=${SAVE_EVERY:-50}
folder=${STINT_CHECKPOINT_DIR:-checkpoints}
step=0 sum=0 stop=0
trap 'stop=1' TERM USR1 # the notice: save, then leave

if [ -n "${STINT_RESTORE_FROM:-}" ]; then
  read -r step sum <"$STINT_RESTORE_FROM/state"
fi
touch "${STINT_READY_FILE:-/dev/null}"

save() {
  draft=$folder/.step-$step.tmp
  rm -rf "$draft" "$folder/step-$step"
  mkdir -p "$draft"
  echo "$step $sum" >"$draft/state"
  (cd "$draft" && sha256sum state >SHA256SUMS)
  sync "$draft/state" "$draft/SHA256SUMS"
  mv "$draft" "$folder/step-$step" # appears whole
}

while [ "$step" -lt "$steps" ]; do
  step=$((step + 1))
  sum=$((sum + step * step))
  [ -z "${TRAIN_LOG:-}" ] || echo "$step" >>"$TRAIN_LOG"
  if [ $((step % every)) -eq 0 ] || [ "$stop" = 1 ]; then save; fi
  if [ "$stop" = 1 ]; then exit 0; fi
done
echo "$sum"
