import { CommanderError, Command as CommanderCommand, Option } from 'commander';
import { toSentence } from '../../../shared/lib/commandLine.ts';
import { runMain } from '../../../shared/lib/runMain.ts';
import { type CommandContext, type Command, UsageError } from './command.ts';
import { COMMANDS } from './commands.ts';

/**
 * Commands for staff: `npm run admin -- <command>`, in a deployment `node dist/worker/cli/admin/main.js <command>`.
 * Exit codes: 0 done, or nothing to do; 1 rejected or failed; 2 invalid arguments; 69 database unavailable; 78 invalid
 * configuration.
 */
runMain(async () => {
  const args = process.argv.slice(2);
  try {
    await createProgram().parseAsync(args[0] === 'help' ? ['--help'] : args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  }
});

function createProgram(): CommanderCommand {
  const program = new CommanderCommand('npm run admin --')
    .usage('<command> ...')
    .configureHelp({ subcommandTerm: (command) => command.name(), helpWidth: 120 })
    .configureOutput({ outputError: (message, write) => write(`${toSentence(message)}\n`) })
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
  for (const [name, command] of Object.entries(COMMANDS)) addCommand(program, name, command);
  return program;
}

function addCommand(program: CommanderCommand, name: string, command: Command): void {
  const { summary, args, details, options, isMutating } = command;
  const added = program.command(`${name} ${args}`.trim()).summary(summary).description(`${summary}.\n${details}`);
  for (const [flags, description] of Object.entries(options)) added.option(flags, description);
  added
    .addOption(new Option('--apply', 'apply the changes').hideHelp(!isMutating))
    .addOption(new Option('--dry-run', 'only print the changes (default)').conflicts('apply').hideHelp(!isMutating))
    .action(async () => {
      const values = added.opts<CommandContext['options']>();
      const shouldApply = values['apply'] === true;
      try {
        const context = { args: added.args, options: values, shouldApply, print };
        const hasSucceeded = await executeCommand(command, context);
        if (hasSucceeded && isMutating && !shouldApply) {
          print('Nothing was changed: this was a dry run. Use --apply to apply the changes.');
        }
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        added.error(error.message);
      }
    });
}

/** @returns whether the command succeeded. Otherwise it has printed the reason. */
async function executeCommand(command: Command, context: CommandContext): Promise<boolean> {
  const run = await command.load();
  const [{ openCommandService }, { describeDatabaseError }, { logger }, { ServiceError }] = await Promise.all([
    import('../commandService.ts'),
    import('../../../shared/lib/database/describeError.ts'),
    import('../../../shared/lib/logger.ts'),
    import('../../../shared/spec/errors.ts'),
  ]);
  const service = await openCommandService(process.env, 'admin');
  try {
    await run(context);
    return true;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const problem = describeDatabaseError(error);
    if (problem === undefined && !(error instanceof ServiceError)) logger.error({ err: error }, 'admin command failed');
    printError(problem ?? (error as Error).message, problem === undefined ? 1 : 69);
    return false;
  } finally {
    await service.close();
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function printError(text: string, status: number): void {
  process.stderr.write(`${text}\n`);
  process.exitCode = status;
}
