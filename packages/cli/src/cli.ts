import { GenmeterError } from '@genmeter/client';
import { Command, CommanderError } from 'commander';
import { addAccountCommands } from './commands/account.ts';
import { addBillingCommands } from './commands/billing.ts';
import { addCompletionCommand } from './commands/completion.ts';
import { addCreateCommand } from './commands/create.ts';
import { addGenerationCommands } from './commands/generations.ts';
import { addKeyCommands } from './commands/keys.ts';
import { addLoginCommands } from './commands/login.ts';
import { addOpenCommand } from './commands/open.ts';
import { addWebhookCommands } from './commands/webhooks.ts';
import { toLine } from './output.ts';
import { ChargedError, CommandError, EXIT, type ExitCode, type Terminal } from './terminal.ts';
import { VERSION } from './version.ts';

const EXIT_CODES = `
Start with: genmeter login --url https://api.example.com
GENMETER_URL and GENMETER_KEY in the environment replace the stored sign-in.
Help for a command: genmeter create image --help

Exit status: 0 success, 1 error, 2 wrong command line, 3 not signed in, 4 credits or subscription missing,
5 temporary error and nothing was charged (try again), 6 the generation failed, 130 interrupted.
Repeat a create only with --idempotency-key: without it, each repetition may charge again.`;

/** Runs a command line. @returns the status of the process. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const end = args.indexOf('--');
  // Mistakes in the command line are JSON as well, so it is read before all other options.
  terminal.isJson = (end === -1 ? args : args.slice(0, end)).includes('--json');
  const program = createProgram(terminal);
  try {
    await program.parseAsync(args, { from: 'user' });
    return EXIT.success;
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportError(error, terminal);
    // Commander has printed the help, the version, or the mistake in the command line for people.
    if (error.exitCode === 0) return EXIT.success;
    if (terminal.isJson) terminal.note(JSON.stringify({ error: 'usage', detail: describeMistake(error) }));
    return EXIT.usage;
  }
}

const MISTAKE_START = /^error: (.)/;

/** Describes a mistake in the command line as the other errors do. */
function describeMistake({ code, message }: CommanderError): string {
  if (code === 'commander.help') return 'A command is missing. See genmeter --help.';
  return toLine(message.replace(MISTAKE_START, (_start, first: string) => first.toUpperCase()));
}

function createProgram(terminal: Terminal): Command {
  const program = new Command('genmeter');
  program
    .description('Create videos and images, and manage the account.')
    .version(VERSION)
    .option('--json', 'print results and errors as JSON')
    .option('-q, --quiet', 'print no progress and no hints')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('Add --help for the options and examples.')
    .addHelpText('after', EXIT_CODES)
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      outputError: (text, write) =>
        write(text.replace(MISTAKE_START, (_start, first: string) => `Error: ${first.toUpperCase()}`)),
      writeErr: (text) => (terminal.isJson ? undefined : terminal.note(text.trimEnd())),
    })
    .exitOverride()
    .hook('preAction', () => {
      terminal.isQuiet = program.opts<{ quiet?: true }>().quiet === true;
    });
  addLoginCommands(program, terminal);
  addCreateCommand(program, terminal);
  addGenerationCommands(program, terminal);
  addAccountCommands(program, terminal);
  addBillingCommands(program, terminal);
  addKeyCommands(program, terminal);
  addWebhookCommands(program, terminal);
  addOpenCommand(program, terminal);
  addCompletionCommand(program, terminal);
  return program;
}

function reportError(thrown: unknown, terminal: Terminal): ExitCode {
  const charged = thrown instanceof ChargedError ? thrown : undefined;
  const { exitCode, fields, text } = describeError(charged === undefined ? thrown : charged.cause, terminal.signal);
  const advice = charged === undefined ? '' : ` ${charged.message}`;
  const json = { ...fields, detail: `${fields.detail}${advice}`, ...charged?.fields };
  terminal.note(terminal.isJson ? JSON.stringify(json) : toLine(`${text}${advice}`));
  return charged === undefined || exitCode === EXIT.interrupted ? exitCode : EXIT.failure;
}

interface ErrorDescription {
  exitCode: ExitCode;
  /** Printed as JSON. */
  fields: { error: string; detail: string; status?: number | null; request_id?: string | null };
  /** Printed for people. */
  text: string;
}

function describeError(thrown: unknown, signal: AbortSignal): ErrorDescription {
  const { cause } = thrown as Error;
  // The client wraps errors of the sign-in.
  const error = cause instanceof CommandError ? cause : thrown;
  const { name, message } = error as Error;
  if (signal.aborted || name === 'AbortError') {
    const fields = { error: 'interrupted', detail: 'The command was interrupted.' };
    return { exitCode: EXIT.interrupted, fields, text: 'Interrupted.' };
  }
  if (error instanceof GenmeterError) {
    const { error: code, detail, status, requestId } = error;
    const id = requestId === undefined ? '' : ` (request ${requestId})`;
    const fields = { error: code, detail, status: status ?? null, request_id: requestId ?? null };
    return { exitCode: chooseExitCode(error), fields, text: `Error: ${detail}${id}` };
  }
  const { exitCode, code } = error instanceof CommandError ? error : { exitCode: EXIT.failure, code: name };
  return { exitCode, fields: { error: code, detail: message }, text: `Error: ${message}` };
}

function chooseExitCode({ error, status }: GenmeterError): ExitCode {
  if (status === 401) return EXIT.notSignedIn;
  if (status === 402) return EXIT.payment;
  const isTemporary = status === undefined || status === 429 || status >= 502 || error === 'parallel_limit_reached';
  return isTemporary ? EXIT.temporary : EXIT.failure;
}
