# A task of the drill: notes its start and its end with the time since boot, and works in between.
# usage: task.sh NUMBER SECONDS     in $LOGS; a machine is known by its folder's name in the path
machine=${BATS_SCRATCH#*/local/*/}
machine=${machine%%/*}
note() { read -r up _ </proc/uptime; printf '%s\n' "$1 $BATS_TASK_ID $BATS_ATTEMPT $machine $up" >>"$LOGS/$BATS_BAG"; }
note start
for input in ????????????????????????????????*; do # each is called by its sum
	sum=$(sha256sum "$input") && [ "${sum%% *}" = "$input" ] || note wrong
done
case $1 in *7) setsid sleep 1000 & esac # something that would live on
case $1 in *13) [ -z "$UNKILLABLE" ] || setpriv --reuid=65534 --clear-groups sleep 1000 & esac
sleep "$2"
echo "$1 done"
head -c 60000 /dev/urandom >left # what it leaves, never twice the same
note end
