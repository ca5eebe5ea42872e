import { CommandLineError, parseCommandLine } from '../../../shared/lib/commandLine.ts';
import { runMain } from '../../../shared/lib/runMain.ts';
import { type CommandContext, type Command, UsageError } from './command.ts';
import { COMMANDS } from './commands.ts';

/**
 * What the staff does by hand: `npm run admin -- <command>`, in a deployment `node dist/worker/cli/admin/main.js <command>`.
 * Ends with 0 where it is done, or would be, or there is nothing to do; 1 where it was refused or failed; 2 where it was
 * called wrongly; 69 where the database cannot be worked with; 78 where the configuration cannot be used.
 */
runMain(async () => {
  const [name, ...rest] = process.argv.slice(2);

  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    print(formatOverview());
    process.exitCode = name === undefined ? 2 : 0;
  } else {
    const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (command === undefined) printError(`There is no command ${name}.\n\n${formatOverview()}`, 2);
    else await runCommand(command, rest);
  }
});

async function runCommand(command: Command, args: string[]): Promise<void> {
  try {
    const { values, positionals } = parseCommandArguments(command, args);
    if (values['help']) {
      print(formatHelp(command));
      return;
    }
    const [min, max] = command.argumentCount;
    if (positionals.length < min || positionals.length > max)
      throw new UsageError('Something is missing, or too much.');
    if (values['apply'] === true && values['dry-run'] === true)
      throw new UsageError('Say --apply or --dry-run, not both.');
    const shouldApply = values['apply'] === true;
    const hasSucceeded = await executeCommand(command, { args: positionals, options: values, shouldApply, print });
    if (hasSucceeded && command.isMutating && !shouldApply)
      print('Nothing was changed: this was a dry run. Say --apply to have it done.');
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    printError(`${error.message}\n\n${formatHelp(command)}`, 2);
  }
}

/** @returns whether it went as it should; else the reason was told. */
async function executeCommand(command: Command, call: CommandContext): Promise<boolean> {
  const handler = await command.load();
  const [{ openCommandService }, { describeDatabaseError: problemOfDatabase }, { logger }, { ServiceError }] =
    await Promise.all([
      import('../commandService.ts'),
      import('../../../shared/lib/databaseErrors.ts'),
      import('../../../shared/lib/logger.ts'),
      import('../../../shared/spec/errors.ts'),
    ]);
  const service = await openCommandService(process.env, 'admin');
  try {
    await handler(call);
    return true;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const problem = problemOfDatabase(error);
    if (problem === undefined && !(error instanceof ServiceError))
      logger.error({ err: error }, 'an admin command failed');
    printError(problem ?? (error as Error).message, problem === undefined ? 1 : 69);
    return false;
  } finally {
    await service.close();
  }
}

function parseCommandArguments({ options }: Command, args: string[]) {
  const known = Object.entries(options).map(([name, { type }]) => [name, { type }] as const);
  const ofAll = { apply: { type: 'boolean' }, 'dry-run': { type: 'boolean' } } as const;
  try {
    return parseCommandLine(args, { ...Object.fromEntries(known), ...ofAll }, true);
  } catch (error) {
    if (!(error instanceof CommandLineError)) throw error;
    throw new UsageError(error.message);
  }
}

function formatOverview(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const lines = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return [
    'npm run admin -- <command> ...',
    '',
    ...lines,
    '',
    'Each explains itself with --help. Nothing is changed without --apply. They work with the databases of DATABASE_URL and',
    'REDIS_URL; where neither is set, with those of the service that npm start runs on DATA_DIR (.data unless set).',
  ].join('\n');
}

function formatHelp({ usage, summary, details, options, isMutating }: Command): string {
  const all: [string, string][] = [
    ...Object.entries(options).map(([name, { about }]): [string, string] => [`--${name}`, about]),
    ...(isMutating
      ? ([
          ['--apply', 'do it'],
          ['--dry-run', 'only say what would be done, as without --apply'],
        ] as [string, string][])
      : []),
  ];
  const width = Math.max(...all.map(([name]) => name.length));
  return [
    `npm run admin -- ${usage}`,
    '',
    `${summary}.`,
    details,
    ...(all.length === 0 ? [] : ['', ...all.map(([name, about]) => `  ${name.padEnd(width)}  ${about}`)]),
  ].join('\n');
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function printError(text: string, status: number): void {
  process.stderr.write(`${text}\n`);
  process.exitCode = status;
}
