import { CommandLineError, parseCommandLine } from '../../shared/lib/commandLine.ts';
import { runMain } from '../../shared/lib/runMain.ts';
import { type Call, type Command, UsageError } from './command.ts';
import { COMMANDS } from './commands.ts';

/**
 * What the staff does by hand: `npm run admin -- <command>`, in a deployment `node dist/worker/admin/main.js <command>`.
 * Ends with 0 where it is done, or would be, or there is nothing to do; 1 where it was refused or failed; 2 where it was
 * called wrongly; 69 where the database cannot be worked with; 78 where the configuration cannot be used.
 */
runMain(async () => {
  const [name, ...rest] = process.argv.slice(2);

  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    say(overview());
    process.exitCode = name === undefined ? 2 : 0;
  } else {
    const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (command === undefined) complain(`There is no command ${name}.\n\n${overview()}`, 2);
    else await perform(command, rest);
  }
});

async function perform(command: Command, args: string[]): Promise<void> {
  try {
    const { values, positionals } = parse(command, args);
    if (values['help']) {
      say(explanation(command));
      return;
    }
    const [least, most] = command.names;
    if (positionals.length < least || positionals.length > most)
      throw new UsageError('Something is missing, or too much.');
    if (values['apply'] === true && values['dry-run'] === true)
      throw new UsageError('Say --apply or --dry-run, not both.');
    const isForReal = values['apply'] === true;
    const isDone = await run(command, { names: positionals, options: values, isForReal, say });
    if (isDone && command.changes && !isForReal)
      say('Nothing was changed: this was a dry run. Say --apply to have it done.');
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    complain(`${error.message}\n\n${explanation(command)}`, 2);
  }
}

/** @returns whether it went as it should; else the reason was told. */
async function run(command: Command, call: Call): Promise<boolean> {
  const work = await command.load();
  const [{ openCommandService }, { problemOfDatabase }, { logger }, { ServiceError }] = await Promise.all([
    import('../commandService.ts'),
    import('../../shared/lib/databaseProblem.ts'),
    import('../../shared/lib/logger.ts'),
    import('../../shared/spec/errors.ts'),
  ]);
  const service = await openCommandService(process.env, 'admin');
  try {
    await work(call);
    return true;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const problem = problemOfDatabase(error);
    if (problem === undefined && !(error instanceof ServiceError))
      logger.error({ err: error }, 'an admin command failed');
    complain(problem ?? (error as Error).message, problem === undefined ? 1 : 69);
    return false;
  } finally {
    await service.close();
  }
}

function parse({ options }: Command, args: string[]) {
  const known = Object.entries(options).map(([name, { type }]) => [name, { type }] as const);
  const ofAll = { apply: { type: 'boolean' }, 'dry-run': { type: 'boolean' } } as const;
  try {
    return parseCommandLine(args, { ...Object.fromEntries(known), ...ofAll }, true);
  } catch (error) {
    if (!(error instanceof CommandLineError)) throw error;
    throw new UsageError(error.message);
  }
}

function overview(): string {
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

function explanation({ usage, summary, details, options, changes }: Command): string {
  const all: [string, string][] = [
    ...Object.entries(options).map(([name, { about }]): [string, string] => [`--${name}`, about]),
    ...(changes
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

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function complain(text: string, status: number): void {
  process.stderr.write(`${text}\n`);
  process.exitCode = status;
}
