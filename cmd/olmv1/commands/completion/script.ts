import type { Shell } from "../../cli/options.ts";

const BASH = `# Completion of olmv1 for bash 4 and later: source <(olmv1 completion bash)
__olmv1_complete() {
  local -a reply
  mapfile -t reply < <("\${COMP_WORDS[0]}" __complete --breaks "$COMP_WORDBREAKS" --line "\${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
  COMPREPLY=()
  (( \${#reply[@]} > 0 )) || return
  local directive="\${reply[-1]#:}"
  unset 'reply[-1]'
  COMPREPLY=("\${reply[@]%%$'\\t'*}")
  if (( directive & 2 )); then compopt -o nospace; fi
  if (( directive & 16 )); then
    compopt -o dirnames
  elif (( ! (directive & 4) )); then
    compopt -o default
  fi
}
complete -F __olmv1_complete olmv1
`;

const ZSH = `#compdef olmv1
# Completion of olmv1 for zsh: olmv1 completion zsh > "\${fpath[1]}/_olmv1"
_olmv1() {
  local -a reply described space
  local line word help
  reply=("\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  local directive="\${reply[-1]#:}"
  for line in "\${(@)reply[1,-2]}"; do
    word="\${line%%$'\\t'*}"
    help="\${line#"$word"}"
    described+=("\${word//:/\\\\:}\${help:+:\${help#$'\\t'}}")
  done
  (( directive & 2 )) && space=(-S '')
  (( \${#described} > 0 )) && _describe -V olmv1 described "\${space[@]}"
  if (( directive & 16 )); then
    _files -/
  elif (( ! (directive & 4) )); then
    _files
  fi
}
if [[ "\${funcstack[1]}" == _olmv1 ]]; then _olmv1 "$@"; else compdef _olmv1 olmv1; fi
`;

const FISH = `# Completion of olmv1 for fish: olmv1 completion fish > ~/.config/fish/completions/olmv1.fish
function __olmv1_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l reply ($words[1] __complete -- $words[2..-1] "$current" 2>/dev/null)
    test (count $reply) -gt 0; or return
    set -l directive (string sub -s 2 -- $reply[-1])
    if test (count $reply) -gt 1
        printf '%s\\n' $reply[1..-2]
    end
    if test (math "bitand($directive, 16)") -ne 0
        __fish_complete_directories "$current" ''
    else if test (math "bitand($directive, 4)") -eq 0
        __fish_complete_path "$current" ''
    end
end
complete -c olmv1 -f -a '(__olmv1_complete)'
`;

/** Returns the completion script of a shell. */
export function getCompletionScript(shell: Shell): string {
  return { bash: BASH, zsh: ZSH, fish: FISH }[shell];
}
