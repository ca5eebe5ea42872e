import type { Command } from 'commander';
import { CommandError, EXIT } from './terminal.ts';

/** Adds examples, without the name of the program, to the help of a command. */
export function withExamples(command: Command, ...examples: string[]): Command {
  return command.addHelpText('after', `\nExamples:\n${examples.map((line) => `  genmeter ${line}`).join('\n')}`);
}

/**
 * Rejects arguments of the command that a group runs without a name, since they are mistaken names.
 * @throws CommandError
 */
export function withoutArguments(command: Command): Command {
  return command.allowExcessArguments().hook('preAction', ({ args: [name], parent }) => {
    if (name === undefined) return;
    const known = parent?.commands.map((one) => one.name()).join(', ');
    throw new CommandError(EXIT.usage, 'usage', `Unknown command "${name}". Commands of ${parent?.name()}: ${known}.`);
  });
}

/** UUID in examples. */
export const EXAMPLE_UUID = '0198c7a2-5f3e-7c41-9b0d-2a6c8e4f1d35';
