import { GenmeterError } from '@genmeter/client';
import { Command, CommanderError } from 'commander';
import { addAccountCommands } from './commands/account.ts';
import { addCreateCommand } from './commands/create.ts';
import { addGenerationCommands } from './commands/generations.ts';
import { addLoginCommands } from './commands/login.ts';
import { addWebhookCommands } from './commands/webhooks.ts';
import { toLine } from './output.ts';
import { CommandError, EXIT, type ExitCode, type Terminal } from './terminal.ts';
import { VERSION } from './version.ts';

const EXIT_CODES = `
Exit status: 0 success, 1 error, 2 wrong command line, 3 not signed in, 4 credits or subscription missing,
5 temporary error (try again), 6 the generation failed, 130 interrupted.`;

/** Runs a command line. @returns the status of the process. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const program = createProgram(terminal);
  try {
    await program.parseAsync(args, { from: 'user' });
    return EXIT.success;
  } catch (error) {
    // Commander has printed the help, the version, or the mistake in the command line.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.success : EXIT.usage;
    return reportError(error, args.includes('--json'), terminal);
  }
}

function createProgram(terminal: Terminal): Command {
  const program = new Command('genmeter');
  program
    .description('Create videos and images, and manage the account.')
    .version(VERSION)
    .showHelpAfterError('Add --help for the options.')
    .addHelpText('after', EXIT_CODES)
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.note(text.trimEnd()),
    })
    .exitOverride();
  addLoginCommands(program, terminal);
  addCreateCommand(program, terminal);
  addGenerationCommands(program, terminal);
  addAccountCommands(program, terminal);
  addWebhookCommands(program, terminal);
  return program;
}

function reportError(error: unknown, isJson: boolean, terminal: Terminal): ExitCode {
  if (terminal.signal.aborted || (error as Error).name === 'AbortError') {
    terminal.note(
      isJson ? JSON.stringify({ error: 'interrupted', detail: 'The command was interrupted.' }) : 'Interrupted.',
    );
    return EXIT.interrupted;
  }
  const { name, message } = error as Error;
  if (error instanceof GenmeterError) {
    const { error: code, detail, status, requestId } = error;
    const id = requestId === undefined ? '' : ` (request ${requestId})`;
    const json = { error: code, detail, status: status ?? null, request_id: requestId ?? null };
    terminal.note(isJson ? JSON.stringify(json) : toLine(`Error: ${detail}${id}`));
    return chooseExitCode(error);
  }
  const isOwn = error instanceof CommandError;
  const code = isOwn ? error.code : name;
  terminal.note(isJson ? JSON.stringify({ error: code, detail: message }) : toLine(`Error: ${message}`));
  return isOwn ? error.exitCode : EXIT.failure;
}

function chooseExitCode({ error, status }: GenmeterError): ExitCode {
  if (status === 401) return EXIT.notSignedIn;
  if (status === 402) return EXIT.payment;
  const isTemporary = status === undefined || status === 429 || status >= 502 || error === 'parallel_limit_reached';
  return isTemporary ? EXIT.temporary : EXIT.failure;
}
