# Completes holdfast in fish: commands, and options as --help lists them.
function __holdfast_options
    set -l words (commandline -opc)
    $words[1] $words[2] --help 2>/dev/null | string match -rg '^  (--[a-z-]+)'
end
complete -c holdfast -f -n 'test (count (commandline -opc)) -eq 1' \
    -a '(holdfast --help 2>/dev/null | string match -rg "^  ([a-z]+) ")'
complete -c holdfast -f -n 'test (count (commandline -opc)) -gt 1; and not contains -- -- (commandline -opc)' \
    -a '(__holdfast_options)'
complete -c holdfast -n 'contains -- -- (commandline -opc)' -a '(__fish_complete_subcommand --fcs-skip=(contains -i -- -- (commandline -opc)))'
