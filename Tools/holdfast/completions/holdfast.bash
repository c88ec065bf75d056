# Completes holdfast in bash: commands, options as --help lists them, and what comes after -- like a command line of its own.
_holdfast() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD - 1]}" command="${COMP_WORDS[1]}" place
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p')" -- "$word")
        return
    fi
    for ((place = 2; place < COMP_CWORD; place++)); do
        if [ "${COMP_WORDS[place]}" = -- ]; then
            if declare -F _command_offset >/dev/null; then
                _command_offset "$((place + 1))"
            elif [ "$((place + 1))" -eq "$COMP_CWORD" ]; then
                mapfile -t COMPREPLY < <(compgen -c -- "$word")
            fi
            return
        fi
    done
    case "$before" in
    --restart) mapfile -t COMPREPLY < <(compgen -W "never on-failure always" -- "$word") ;;
    --ready) mapfile -t COMPREPLY < <(compgen -W "exec notify" -- "$word") ;;
    --stop-signal | --reload-signal) mapfile -t COMPREPLY < <(compgen -A signal -- "$word") ;;
    --store | --directory) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    *)
        case "$word" in
        -*) mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" "$command" --help 2>/dev/null | sed -n 's/^  \(--[a-z-]*\).*/\1/p')" -- "$word") ;;
        esac
        ;;
    esac
}
complete -o default -F _holdfast holdfast
