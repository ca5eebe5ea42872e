import { parseArgs, type ParseArgsConfig } from 'node:util';

/** Invalid command-line arguments. The message is one sentence for the person who typed them. */
export class CommandLineError extends Error {}

const HELP_OPTION = { help: { type: 'boolean', short: 'h', default: false } } as const;

type Options = NonNullable<ParseArgsConfig['options']>;
type Parsed<Known extends Options> = ReturnType<
  typeof parseArgs<{ options: Known & typeof HELP_OPTION; allowPositionals: boolean }>
>;

/**
 * Parses the arguments of a command. Every command accepts `--help`.
 * @throws CommandLineError if an option is unknown or lacks its value.
 */
export function parseCommandLine<Known extends Options>(
  args: readonly string[],
  options: Known,
  allowPositionals = false,
): Parsed<Known> {
  try {
    return parseArgs({
      args: joinNegativeNumbers(args, options),
      options: { ...options, ...HELP_OPTION },
      allowPositionals,
    });
  } catch (error) {
    throw new CommandLineError(describeParseError(error as Error));
  }
}

/**
 * Reads the command line of a command that takes options only. `--help` prints the usage and exits with 0; unknown
 * arguments print one sentence and exit with 2.
 */
export function readCommandLine<Known extends Options>(
  command: string,
  usage: string,
  options: Known,
): Parsed<Known>['values'] {
  try {
    const { values } = parseCommandLine(process.argv.slice(2), options);
    if (!('help' in values) || values.help !== true) return values;
    process.stdout.write(`${usage}\n`);
    process.exit(0);
  } catch (error) {
    if (!(error instanceof CommandLineError)) throw error;
    return exitWithUsageError(command, error);
  }
}

/** Prints the error and how to show the usage, and exits with 2. */
export function exitWithUsageError(command: string, { message }: Error): never {
  process.stderr.write(`${message} See: ${command} -- --help\n`);
  process.exit(2);
}

/** Joins an option with a negative number after it, which `parseArgs` takes for an option: `--seed -1` to `--seed=-1`. */
function joinNegativeNumbers(args: readonly string[], options: Options): string[] {
  const joined: string[] = [];
  for (const arg of args) {
    const before = joined.at(-1);
    const takesValue = before?.startsWith('--') === true && options[before.slice(2)]?.type === 'string';
    if (takesValue && /^-\d/.test(arg)) joined[joined.length - 1] = `${before}=${arg}`;
    else joined.push(arg);
  }
  return joined;
}

function describeParseError(error: Error & { code?: string }): string {
  const named = /'([^' ]+)[^']*'/.exec(error.message)?.[1];
  if (named === undefined) return error.message;
  switch (error.code) {
    case 'ERR_PARSE_ARGS_UNKNOWN_OPTION':
      return `There is no option ${named}.`;
    case 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL':
      return `There is no argument ${named}.`;
    case 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE':
      return /does not take an argument/.test(error.message) ? `${named} takes no value.` : `${named} needs a value.`;
    default:
      return error.message;
  }
}
