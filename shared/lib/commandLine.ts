import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';

/** Invalid arguments. The message is one sentence. */
export class CommandLineError extends Error {}

type OptionSettings = { type: 'string'; default?: string } | { type: 'boolean'; default?: boolean };
type Options = Record<string, OptionSettings>;

type Value<Settings extends OptionSettings> = Settings extends { type: 'string' } ? string : boolean;
type Values<Known extends Options> = {
  [Name in keyof Known as Known[Name] extends { default: unknown } ? Name : never]: Value<Known[Name]>;
} & {
  [Name in keyof Known as Known[Name] extends { default: unknown } ? never : Name]?: Value<Known[Name]>;
} & { help?: boolean };

/**
 * Parses the arguments of a command that takes options only. `--help` is always known.
 * @throws CommandLineError for an unknown argument or a missing value.
 */
export function parseCommandLine<Known extends Options>(
  args: readonly string[],
  options: Known,
): { values: Values<Known> } {
  const command = new Command()
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .helpOption(false)
    .option('-h, --help')
    .allowExcessArguments()
    .showSuggestionAfterError(false);
  const known = Object.entries(options).map(([name, settings]) => ({ name, option: toOption(name, settings) }));
  for (const { option } of known) command.addOption(option);
  try {
    command.parse(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    throw new CommandLineError(toSentence(error.message));
  }
  const [unexpected] = command.args;
  if (unexpected !== undefined) throw new CommandLineError(`Unexpected argument '${unexpected}'.`);
  const parsed = command.opts<Record<string, unknown>>();
  const values = known.map(({ name, option }) => [name, parsed[option.attributeName()]]);
  return { values: { ...Object.fromEntries(values), help: parsed['help'] === true } as Values<Known> };
}

function toOption(name: string, settings: OptionSettings): Option {
  if (settings.type === 'boolean') return new Option(`--${name}`).default(settings.default);
  const option = new Option(`--${name} <value>`).default(settings.default);
  // Negative numbers are values. Another option in this place means that the value is missing.
  return option.argParser((value) => {
    if (value.startsWith('--')) throw new InvalidArgumentError('The value is missing.');
    return value;
  });
}

/** Converts a message of commander, such as `error: unknown option '--x'`, into a sentence. */
export function toSentence(message: string): string {
  const text = message.trim().replace(/^error: /, '');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
}

/**
 * Reads the options of the process. With `--help` it prints the usage and exits with 0; for invalid arguments it prints
 * one sentence and exits with 2.
 */
export function readCommandLine<Known extends Options>(command: string, usage: string, options: Known): Values<Known> {
  try {
    const { values } = parseCommandLine(process.argv.slice(2), options);
    if (values.help !== true) return values;
    process.stdout.write(`${usage}\n`);
    process.exit(0);
  } catch (error) {
    if (!(error instanceof CommandLineError)) throw error;
    return exitWithUsageError(command, error);
  }
}

/** Prints the message and where to find the usage, and exits with 2. */
export function exitWithUsageError(command: string, { message }: Error): never {
  process.stderr.write(`${message} See: ${command} -- --help\n`);
  process.exit(2);
}
