import { Argument, type Command } from 'commander';
import { withExamples } from '../help.ts';
import type { Terminal } from '../terminal.ts';

interface Word {
  word: string;
  description: string;
}

/** A command with the words that may follow it. */
interface Position {
  /** Names from the program on, such as `genmeter create image`. */
  path: string;
  /** Names of commands, and values of arguments. */
  names: Word[];
  options: Word[];
}

function listPositions(command: Command, parent = ''): Position[] {
  const path = `${parent} ${command.name()}`.trim();
  const help = command.createHelp();
  const choices = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map((word) => ({ word, description })),
  );
  const commands = help.visibleCommands(command).map((one) => ({ word: one.name(), description: one.description() }));
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)].flatMap(
    ({ long, short, description }) => [long, short].flatMap((word) => (word == null ? [] : [{ word, description }])),
  );
  return [
    { path, names: [...commands, ...choices], options },
    ...command.commands.flatMap((one) => listPositions(one, path)),
  ];
}

/** Quotes a text for all three shells, in which a quotation mark ends the text. */
const quote = (text: string): string => `'${text.replaceAll("'", '’')}'`;

const joinWords = (words: Word[]): string => quote(words.map(({ word }) => word).join(' '));

/** Lists the commands below the program as alternatives of a pattern. */
const formatPaths = (positions: Position[], separator: string): string =>
  positions
    .slice(1)
    .map(({ path }) => quote(path))
    .join(separator);

function formatBash(positions: Position[]): string {
  const cases = positions.map(
    ({ path, names, options }) => `    ${quote(path)}) names=${joinWords(names)} options=${joinWords(options)} ;;`,
  );
  return `_genmeter() {
  local at=genmeter word names options current="\${COMP_WORDS[COMP_CWORD]}"
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at $word" in
      ${formatPaths(positions, ' | ')}) at="$at $word" ;;
    esac
  done
  case "$at" in
${cases.join('\n')}
  esac
  [[ "$current" == -* ]] && names="$options"
  COMPREPLY=($(compgen -W "$names" -- "$current"))
}
complete -o default -F _genmeter genmeter`;
}

const formatZshWords = (words: Word[]): string =>
  words.map(({ word, description }) => quote(`${word.replaceAll(':', '\\:')}:${description}`)).join(' ');

function formatZsh(positions: Position[]): string {
  const cases = positions.map(
    ({ path, names, options }) =>
      `    (${quote(path)}) names=(${formatZshWords(names)}) options=(${formatZshWords(options)}) ;;`,
  );
  return `#compdef genmeter
_genmeter() {
  local at=genmeter word
  local -a names options
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
      (${formatPaths(positions, '|')}) at="$at $word" ;;
    esac
  done
  case "$at" in
${cases.join('\n')}
  esac
  if [[ "$words[CURRENT]" == -* ]]; then
    _describe -o option options
  elif (( $#names )); then
    _describe command names
  else
    _files
  fi
}
if [ "$funcstack[1]" = _genmeter ]; then _genmeter "$@"; else compdef _genmeter genmeter; fi`;
}

const formatFishEntry = (path: string, kind: string, { word, description }: Word): string =>
  `complete -c genmeter -n "__genmeter_at ${quote(path)}" ${kind} ${quote(word.replace(/^-+/, ''))} -d ${quote(description)}`;

function formatFish(positions: Position[]): string {
  const entries = positions.flatMap(({ path, names, options }) => [
    ...names.map((word) => formatFishEntry(path, '-a', word)),
    ...options.map((word) => formatFishEntry(path, word.word.startsWith('--') ? '-l' : '-s', word)),
  ]);
  return `function __genmeter_at
  set -l at genmeter
  for word in (commandline --tokenize --current-process --cut-at-cursor)[2..]
    contains -- "$at $word" ${formatPaths(positions, ' ')}; and set at "$at $word"
  end
  test "$at" = "$argv"
end
${entries.join('\n')}`;
}

const SHELLS = { bash: formatBash, zsh: formatZsh, fish: formatFish };

const INSTALLATION = `
Install it, then start a new shell:
  bash  genmeter completion bash > ~/.local/share/bash-completion/completions/genmeter
  zsh   genmeter completion zsh > ~/.zsh/_genmeter, with fpath=(~/.zsh $fpath) before compinit in ~/.zshrc
  fish  genmeter completion fish > ~/.config/fish/completions/genmeter.fish`;

export function addCompletionCommand(program: Command, terminal: Terminal): void {
  const completion = program
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SHELLS)));
  withExamples(completion, 'completion bash > ~/.local/share/bash-completion/completions/genmeter');
  completion.addHelpText('after', INSTALLATION).action((shell: keyof typeof SHELLS) => {
    terminal.print(SHELLS[shell](listPositions(program)));
  });
}
