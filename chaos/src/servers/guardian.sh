# The guardian of one throw-away PostgreSQL server; guardian.rs says why there is one.
#
#   watch FOLDER POSTGRES INITDB [OPTION...]   makes a server in FOLDER and takes commands
#   clear FOLDER POSTGRES                      clears up after a guardian that was killed
#
# Commands come on standard input, the password's verifier as the first line. Events go to
# standard output, each a line that starts with @; other lines are what initdb or the system
# says.

unset GUARDIAN
umask 077
# Its end is the pipe's end. What a terminal or a service manager sends to everybody is not
# for the guardian, and a reader that is gone must not end it before its work is done.
trap '' HUP INT TERM PIPE

mode=$1 folder=$2 postgres=$3
data=$folder/data
server=

# Kills what still runs this server's program in its data folder. True if there was nothing.
sweep() {
    swept=0
    for process in /proc/[0-9]*; do
        if [ "$process/cwd" -ef "$data" ] && [ "$process/exe" -ef "$postgres" ]; then
            kill -KILL "${process#/proc/}"
            swept=1
        fi
    done
    return $swept
}

# Frees the shared memory that a killed postmaster left. It is named at the end of the
# seventh line of the postmaster's pid file, which a postmaster that stops by itself removes.
free_memory() {
    if [ -e "$data/postmaster.pid" ]; then
        segment=$(sed -n '7s/.* //p' "$data/postmaster.pid")
        [ -z "$segment" ] || ipcrm -m "$segment"
        # So that it is not freed twice: the number may be given to somebody else.
        rm -f "$data/postmaster.pid"
    fi
}

clear() {
    until sweep; do :; done
    [ -z "$server" ] || wait "$reader"
    free_memory
    rm -rf "$folder"
}

make() {
    mkfifo "$folder/alive" && "$initdb" --pgdata="$data" --username=stagefault \
        --auth=scram-sha-256 --pwfile=/dev/stdin --encoding=UTF8 --locale=C --no-sync 2>&1 <<EOT
$verifier
EOT
}

# Starts the postmaster, as a child of this shell and with nothing of ours but the writing
# end of a pipe. Its children inherit that, so the pipe ends when the last of them has ended.
launch() {
    port=$1
    shift
    # A named pipe opens at once only where its other end is open, hence descriptor 3.
    exec 3<>"$folder/alive" 4<"$folder/alive" 5>"$folder/alive" 3>&-
    { cat; : >"$folder/gone"; echo @gone; } <&4 4<&- 5>&- &
    reader=$!
    "$postgres" -D "$data" -k "$folder" -p "$port" "$@" \
        </dev/null >&5 2>"$folder/log" 4<&- 5>&- &
    server=$!
    exec 4<&- 5>&-
    echo "@running $server"
}

send() {
    [ -e "$folder/gone" ] || kill -"$1" "$server"
}

# Stops the postmaster, who stops its children, after five seconds by SIGKILL.
halt() {
    # Without a pid file it does not listen to signals yet, and has no children or memory.
    if [ -e "$data/postmaster.pid" ]; then send QUIT; else send KILL; fi
    # In case somebody stopped it with SIGSTOP.
    send CONT
    wait "$server"
}

if [ "$mode" = clear ]; then
    clear
    exit
fi

initdb=$4
shift 4
IFS= read -r verifier
mkdir "$folder" 2>&1 || { echo @unwritable; exit; }
if ! make; then
    rm -rf "$folder"
    echo @failed
    exit
fi
echo @made

while read -r command argument; do
    case $command in
        start)
            if [ -n "$server" ]; then
                wait "$server"
                free_memory
                rm -f "$folder/gone"
            fi
            launch "$argument" "$@"
            ;;
        signal) send "$argument" ;;
        sweep) sweep ;;
    esac
done

# The pipe has ended: by our own wish, or because the process that held it has died.
[ -z "$server" ] || halt
clear
