import { CommanderError, Command as CommanderCommand, Option } from 'commander';
import { toSentence } from '../../../shared/lib/commandLine.ts';
import { type CommandContext, type Command, type CommandStreams, UsageError } from './command.ts';
import { COMMANDS } from './commands.ts';

type Environment = Record<string, string | undefined>;

/** Runs a command. @returns its exit code. */
type Execute = (command: Command, context: CommandContext) => Promise<number>;

/**
 * Runs a command for staff in this process, in which no service may be open.
 * @returns the exit code: 0 done, or nothing to do; 1 rejected or failed; 2 invalid arguments; 69 database unavailable.
 * @throws ConfigError if the configuration is invalid.
 */
export async function runAdminCommand(
  env: Environment,
  args: readonly string[],
  streams: CommandStreams,
): Promise<number> {
  let status = 0;
  const program = createProgram(streams, async (command, context) => {
    status = await executeCommand(env, command, context);
    return status;
  });
  try {
    await program.parseAsync(args[0] === 'help' ? ['--help'] : args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? 0 : 2;
  }
  return status;
}

function createProgram({ stdout, stderr }: CommandStreams, execute: Execute): CommanderCommand {
  const program = new CommanderCommand('npm run admin --')
    .usage('<command> ...')
    .configureHelp({ subcommandTerm: (command) => command.name(), helpWidth: 120 })
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      outputError: (message, write) => write(`${toSentence(message)}\n`),
    })
    .helpCommand(false)
    .exitOverride()
    .showHelpAfterError()
    .showSuggestionAfterError(false)
    .addHelpText(
      'after',
      `
Each command has its own --help. Commands change data only with --apply. They use the databases of DATABASE_URL and
REDIS_URL; if neither is set, those of the service that npm start runs on DATA_DIR (default: .data).`,
    );
  for (const [name, command] of Object.entries(COMMANDS))
    addCommand(program, name, command, { stdout, stderr }, execute);
  return program;
}

function addCommand(
  program: CommanderCommand,
  name: string,
  command: Command,
  streams: CommandStreams,
  execute: Execute,
): void {
  const { summary, args, details, options, isMutating, dryRun } = command;
  const print = (line: string) => void streams.stdout.write(`${line}\n`);
  const added = program.command(`${name} ${args}`.trim()).summary(summary).description(`${summary}.\n${details}`);
  for (const [flags, description] of Object.entries(options)) added.option(flags, description);
  added
    .addOption(new Option('--apply', 'apply the changes').hideHelp(!isMutating))
    .addOption(
      new Option('--dry-run', dryRun ?? 'only print the changes (default)')
        .conflicts('apply')
        .hideHelp(!isMutating && dryRun === undefined),
    )
    .action(async () => {
      const values = added.opts<CommandContext['options']>();
      const shouldApply = values['apply'] === true;
      try {
        const status = await execute(command, { args: added.args, options: values, shouldApply, print, ...streams });
        if (status === 0 && isMutating && !shouldApply) {
          print('Nothing was changed: this was a dry run. Use --apply to apply the changes.');
        }
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        added.error(error.message);
      }
    });
}

/** Runs a command in a service of its own. @returns the exit code. If it is not 0, the reason is on stderr. */
async function executeCommand(env: Environment, command: Command, context: CommandContext): Promise<number> {
  const run = await command.load();
  const [{ openCommandService }, { describeDatabaseError }, { logger }, { ServiceError }] = await Promise.all([
    import('../commandService.ts'),
    import('../../../shared/lib/database/describeError.ts'),
    import('../../../shared/lib/logger.ts'),
    import('../../../shared/spec/errors.ts'),
  ]);
  const service = await openCommandService(env, command.kind ?? 'admin', context.stderr);
  try {
    await run(context);
    return 0;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const problem = describeDatabaseError(error);
    if (problem === undefined && !(error instanceof ServiceError)) logger.error({ err: error }, 'admin command failed');
    context.stderr.write(`${problem ?? (error as Error).message}\n`);
    return problem === undefined ? 1 : 69;
  } finally {
    await service.close();
  }
}
