# A task of the drill: notes its start and its end with the time since boot, and works in between.
# usage: task.sh NUMBER SECONDS     in $LOGS; a machine is known by its folder's name in the path
machine=${BATS_SCRATCH#*/local/*/}
machine=${machine%%/*}
note() { read -r up _ </proc/uptime; printf '%s\n' "$1 $BATS_TASK_ID $BATS_ATTEMPT $machine $up" >>"$LOGS/$BATS_BAG"; }
note start
case $1 in *7) setsid sleep 1000 & esac # something that would live on
sleep "$2"
echo "$1 done"
note end
